"""URLs that a webhook cannot have, typed by hand: rejected by their text, or by the addresses of their host."""

NUMBERS = (
    # one number, octal, hexadecimal, with parts left out
    "https://2130706433/", "https://2130706433:443/", "https://0/", "https://1/", "https://127.1/", "https://127.0.1/",
    "https://10.1/", "https://192.168.257/", "https://192.168.1/", "https://0177.0.0.1/", "https://0177.1/",
    "https://017700000001/", "https://00000177.0.0.1/", "https://0x7f000001/", "https://0x7f.0.0.1/", "https://0x7f.1/",
    "https://0X7F000001/", "https://0x7f.0x0.0x0.0x1/", "https://127.0.0.0x1/", "https://127.0.0.01/",
    "https://127.000.000.001/", "https://0xa9fea9fe/", "https://2852039166/", "https://0251.0376.0251.0376/",
    "https://0xa9.0xfe.0xa9.0xfe/", "https://169.254.43518/", "https://169.16689662/", "https://167772161/",
    "https://0xA000001/", "https://012.0.0.1/", "https://3232235521/", "https://0xc0a80001/", "https://0300.0250.0.1/",
    "https://4294967295/", "https://0xffffffff/", "https://4294967296/", "https://0x/", "https://256.256.256.256/",
    "https://1.2.3.4.5/", "https://127.0.0.1.1/", "https://hook.127/", "https://hook.0x7f/", "https://08.08.08.08/",
)  # fmt: skip
IPV4 = (
    "https://127.0.0.1/", "https://127.0.0.1:22/", "https://127.0.0.1:80/", "https://127.0.0.1:6379/hook",
    "https://127.0.0.1:8787/api", "https://127.255.255.254/", "https://10.0.0.1/", "https://10.255.255.255/",
    "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.0.1/", "https://192.168.255.255/",
    "https://100.64.0.1/", "https://100.127.255.255/", "https://100.100.100.200/latest/meta-data/",
    "https://169.254.169.254/latest/meta-data/", "https://169.254.170.2/v2/credentials/", "https://169.254.0.1/",
    "https://168.63.129.16/", "https://192.0.0.192/", "https://192.0.0.1/", "https://0.0.0.0/", "https://0.0.0.0:8787/",
    "https://0.1.2.3/", "https://192.0.2.1/", "https://192.88.99.1/", "https://198.18.0.1/", "https://198.51.100.1/",
    "https://203.0.113.1/", "https://224.0.0.1/", "https://239.255.255.250/", "https://240.0.0.1/",
    "https://255.255.255.255/",
)  # fmt: skip
IPV6 = (
    "https://[::1]/", "https://[::1]:8787/", "https://[::]/", "https://[0:0:0:0:0:0:0:1]/",
    "https://[0000:0000:0000:0000:0000:0000:0000:0001]/", "https://[::0001]/",
    # with an IPv4 address inside: compatible, mapped, translated, NAT64, 6to4, Teredo, ISATAP
    "https://[::127.0.0.1]/", "https://[::7f00:1]/", "https://[::ffff:127.0.0.1]/", "https://[::FFFF:127.0.0.1]/",
    "https://[::ffff:7f00:1]/", "https://[0:0:0:0:0:ffff:7f00:1]/", "https://[::ffff:10.0.0.1]/",
    "https://[::ffff:169.254.169.254]/", "https://[::ffff:a9fe:a9fe]/", "https://[::ffff:0.0.0.0]/",
    "https://[::ffff:8.8.8.8]/", "https://[::ffff:0:7f00:1]/", "https://[::ffff:0:127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/", "https://[64:ff9b::127.0.0.1]/", "https://[64:ff9b::a9fe:a9fe]/",
    "https://[64:ff9b::10.0.0.1]/", "https://[64:ff9b::8.8.8.8]/", "https://[64:ff9b:1::7f00:1]/",
    "https://[64:ff9b:1::a9fe:a9fe]/", "https://[2002:7f00:1::]/", "https://[2002:a9fe:a9fe::]/",
    "https://[2002:c0a8:1::1]/", "https://[2002:808:808::1]/", "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "https://[2001::1]/", "https://[2001:0:7f00:1::]/", "https://[::5efe:7f00:1]/", "https://[fe80::5efe:127.0.0.1]/",
    "https://[fe80::200:5efe:a00:1]/",
    # unique local, link-local, site-local, multicast, metadata, documentation, unassigned
    "https://[fc00::1]/", "https://[fd12:3456::1]/", "https://[fd00:ec2::254]/", "https://[fd20:ce::254]/",
    "https://[fe80::1]/", "https://[febf::1]/", "https://[fec0::1]/", "https://[ff02::1]/", "https://[ff0e::1]/",
    "https://[1::1]/", "https://[100::1]/", "https://[2001:db8::1]/", "https://[2001:10::1]/", "https://[3fff::1]/",
    "https://[4000::1]/", "https://[5f00::1]/",
    # zones
    "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[fe80::1%1]/", "https://[::1%25lo]/",
    "https://[::1%lo]/",
    # brackets around a text that is not an address, or an address without brackets
    "https://::1/", "https://[::1/", "https://::1]/", "https://[127.0.0.1]/", "https://[::zz]/", "https://[:::]/",
    "https://[]/", "https://[::1]x/", "https://[::1].hook.example/", "https://[v1.fe80::a]/", "https://[[::1]]/",
    "https://[::1]]/", "https://[1:2:3:4:5:6:7:8:9]/", "https://[::127.1]/",
)  # fmt: skip
USERS = (
    "https://me@hook.example/", "https://me:pw@hook.example/", "https://@hook.example/", "https://:@hook.example/",
    "https://hook.example@127.0.0.1/", "https://hook.example:443@127.0.0.1/", "https://127.0.0.1@hook.example/",
    "https://hook.example%40127.0.0.1/", "https://a@b@127.0.0.1/", "https://hook.example;@127.0.0.1/",
    "https://hook.example/@127.0.0.1/", "https://hook.example?@127.0.0.1/", "https://hook.example#@127.0.0.1/",
    "https://[::1]@hook.example/", "https://hook.example@[::1]/",
)  # fmt: skip
BACKSLASHES = (
    "https://127.0.0.1\\@hook.example/", "https://hook.example\\@127.0.0.1/", "https://hook.example\\.evil.example/",
    "https:\\\\127.0.0.1\\", "https:/\\127.0.0.1/", "https:\\/127.0.0.1/", "https://hook.example/\\path",
    "https://127.0.0.1\\hook.example/", "\\\\127.0.0.1\\share",
)  # fmt: skip
SPACES = (
    "\thttps://hook.example/", " https://hook.example/", "https://hook.example/ ", "https://hook.example/\t",
    "https://hook.example/\n", "https://hook.example/\r\nHost: 127.0.0.1", "https://ho\nok.example/",
    "https://ho\tok.example/", "https://hook .example/", "https://127.0.0.1\t/", "https://127.0.0.1\n/",
    "https://12\t7.0.0.1/", "h\nttps://127.0.0.1/", "https:\n//127.0.0.1/", "https://hook.example/\x00",
    "https://127.0.0.1\x00.hook.example/", "https://hook.example/\x7f", "https://hook.example/\x0b",
    "https://\u200b127.0.0.1/", "https://127.0.0.1\u00ad/", "https://hook.example/\u2028", "https://hook.example/a b",
    "https://\xa0127.0.0.1/",
)  # fmt: skip
UNICODE_HOSTS = (
    "https://\uff11\uff12\uff17.0.0.1/", "https://\uff11\uff12\uff17.\uff11/", "https://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/",
    "https://127\u30020\u30020\u30021/", "https://127\uff0e0\uff0e0\uff0e1/", "https://127\uff610\uff610\uff611/",
    "https://\U0001d7ed\U0001d7ee\U0001d7f3.0.0.1/", "https://\u0661\u0662\u0667.0.0.1/", "https://[::\uff11]/",
    "https://\uff3b::1\uff3d/", "https://\u2113ocalhost/", "https://\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54/",
    "https://localho\u017ft/", "https://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/", "https://l\xf6calhost.example/",
    "https://h\u043e\u043ek.example/", "https://hook.example\uff0f@127.0.0.1/", "https://hook.example\uff1a443/",
    "https://hook.example\uff20127.0.0.1/", "https://127.0.0.1\uff03.hook.example/", "https://127.0.0.1\uff1f.hook.example/",
    "https\uff1a//127.0.0.1/", "https:\u2215\u2215127.0.0.1/", "https://metadata.google.internal\u3002/",
    "https://0\uff587f000001/", "https://hook.example/\xe9", "https://\u212aube.example/",
)  # fmt: skip
ESCAPES = (
    "https://%31%32%37.0.0.1/", "https://127%2e0%2e0%2e1/", "https://127.0.0.1%2f@hook.example/",
    "https://%6c%6f%63alhost/", "https://hook.example%00.evil.example/", "https://hook.example%23@127.0.0.1/",
    "https://%5b::1%5d/", "https://127.0.0.1%0d%0a/", "https://127.0.0.1%20/", "https://127.0.0.1%09/",
    "https://%e2%91%a0%e2%91%a1%e2%91%a6.0.0.1/", "https://hook.example%2f127.0.0.1/", "https://%ef%bc%91.0.0.1/",
    "https://hook%2eexample/", "https://2130706433%2e/", "https%3a//127.0.0.1/", "https:%2f%2f127.0.0.1/",
)  # fmt: skip
DOTS = (
    "https://127.0.0.1./", "https://169.254.169.254./", "https://2130706433./", "https://0x7f000001./",
    "https://localhost./", "https://metadata.google.internal./", "https://hook.example./", "https://hook.example../",
    "https://./", "https://../", "https://.hook.example/", "https://.127.0.0.1/", "https://-hook.example/",
    "https://_hook.example/", "https://hook.example-/", "https://127.0.0.1-/",
)  # fmt: skip
SCHEMES = (
    "http://hook.example/", "HTTP://hook.example/", "http://127.0.0.1/", "http://127.0.0.1:8787/", "http://[::1]/",
    "http://localhost/", "http://169.254.169.254/latest/meta-data/", "http://metadata.google.internal/", "http://8.8.8.8/",
    "ftp://127.0.0.1/", "file:///etc/passwd", "file://localhost/etc/passwd", "gopher://127.0.0.1:6379/_INFO",
    "dict://127.0.0.1:11211/stats", "ldap://127.0.0.1/", "tftp://127.0.0.1/x", "ssh://127.0.0.1/", "ws://127.0.0.1/",
    "wss://127.0.0.1/", "unix:/run/docker.sock", "unix:///run/docker.sock", "https+unix://%2frun%2fdocker.sock/",
    "javascript:alert(1)", "data:text/plain,hello", "blob:https://127.0.0.1/", "jar:https://127.0.0.1!/",
    "view-source:https://127.0.0.1/", "feed:https://127.0.0.1/", "url:https://127.0.0.1/", "httpss://127.0.0.1/",
    "hhttps://127.0.0.1/", "https:127.0.0.1", "https:/127.0.0.1/", "https:///127.0.0.1/", "https:////127.0.0.1/",
    "https://", "https:", "https", "", "/", "//127.0.0.1/", "///127.0.0.1/", "127.0.0.1", "127.0.0.1:443",
    "localhost:8787", "hook.example", "?", "#", "https://?127.0.0.1", "https://#127.0.0.1", "https://:443/",
)  # fmt: skip
PORTS = (
    "https://hook.example:0/", "https://hook.example:65536/", "https://hook.example:99999/", "https://hook.example:-1/",
    "https://hook.example:+443/", "https://hook.example:44_3/", "https://hook.example:8o/", "https://hook.example:443:443/",
    "https://hook.example: 443/", "https://hook.example:443 /", "https://hook.example:\uff14\uff14\uff13/",
    "https://hook.example:/", "https://hook.example:0x1bb/", "https://hook.example:443.0/", "https://hook.example:000443/",
    "https://hook.example:443@127.0.0.1:80/", "https://[::1]:0/", "https://127.0.0.1:0/",
)  # fmt: skip
LENGTHS = ("https://hook.example/".ljust(2049, "a"), f"https://hook.example/?{'a' * 5000}")

FORMS = (
    *NUMBERS, *IPV4, *IPV6, *USERS, *BACKSLASHES, *SPACES, *UNICODE_HOSTS, *ESCAPES, *DOTS, *SCHEMES, *PORTS, *LENGTHS,
)  # fmt: skip

PUBLIC = "93.184.216.34"
NAMES: dict[str, tuple[str, ...]] = {
    "localhost": ("127.0.0.1",),
    "LOCALHOST": ("127.0.0.1",),
    "deep.localhost": ("::1", "127.0.0.1"),
    "127.0.0.1.rebind.example": ("127.0.0.1",),
    "metadata": ("169.254.169.254",),
    "metadata.google.internal": ("169.254.169.254",),
    "instance-data": ("169.254.169.254",),
    "instance-data.ec2.internal": ("169.254.169.254",),
    "metadata-v6.example": ("fd00:ec2::254",),
    "metadata.elsewhere.example": ("100.100.100.200",),
    "wire-server.example": ("168.63.129.16",),
    "kubernetes.default.svc": ("10.96.0.1",),
    "host.docker.internal": ("192.168.65.2",),
    "intranet.example": ("10.0.0.8",),
    "printer.local": ("192.168.1.9",),
    "router.lan": ("192.168.0.1",),
    "db": ("172.18.0.2",),
    "carrier.example": ("100.64.0.1",),
    "six.example": ("::1",),
    "unique-local.example": ("fd12:3456::1",),
    "link-local.example": ("fe80::1",),
    "mapped.example": ("::ffff:127.0.0.1",),
    "mapped-metadata.example": ("::ffff:169.254.169.254",),
    "nat64.example": ("64:ff9b::7f00:1",),
    "nat64-public.example": ("64:ff9b::808:808",),
    "six-to-four.example": ("2002:7f00:1::",),
    "teredo.example": ("2001:0:4136:e378:8000:63bf:3fff:fdd2",),
    "isatap.example": ("fe80::5efe:7f00:1",),
    "unspecified.example": ("0.0.0.0",),
    "unspecified-v6.example": ("::",),
    "multicast.example": ("224.0.0.1",),
    "broadcast.example": ("255.255.255.255",),
    "documentation.example": ("192.0.2.1",),
    "xn--1-7ga.example": ("10.0.0.1",),
    "mixed-last.example": (PUBLIC, "127.0.0.1"),
    "mixed-first.example": ("10.0.0.1", PUBLIC),
    "mixed-middle.example": (PUBLIC, "169.254.169.254", "1.1.1.1"),
    "mixed-families.example": (PUBLIC, "::1"),
    "mixed-mapped.example": ("2606:4700::1111", "::ffff:10.0.0.1"),
    "nowhere.example": (),
    "two..dots.example": (),
    f"{'a' * 64}.example": (),
}
RESERVED_ADDRESSES = (
    "224.0.0.1", "239.255.255.250", "192.88.99.1", "::7f00:1", "::ffff:0:7f00:1", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "2002:7f00:1::", "::5efe:7f00:1", "1::1", "fec0::1", "ff02::1",
    "ff0e::1", "3fff::1", "5f00::1", "100.64.0.1",
)  # fmt: skip
"""Addresses that the standard library calls global, and the one that it does not call private."""
