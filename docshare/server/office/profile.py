"""The settings LibreOffice starts with: a profile made for one conversion and thrown away with it."""

from pathlib import Path
from xml.sax.saxutils import quoteattr

_COMMON = "/org.openoffice.Office.Common"
_SECURITY = f"{_COMMON}/Security/Scripting"
# (path, name) -> value. Spec: hardening F9.
_SETTINGS: dict[tuple[str, str], str] = {
    (_SECURITY, "BlockUntrustedRefererLinks"): "true",  # no document is trusted, so no link is followed
    (_SECURITY, "DisableMacrosExecution"): "true",
    (_SECURITY, "DisableActiveContent"): "true",  # known from LibreOffice 7.5 on, ignored before
    (_SECURITY, "MacroSecurityLevel"): "3",  # very high
    (_SECURITY, "CheckDocumentEvents"): "true",
    ("/org.openoffice.Office.Writer/Content/Update", "Link"): "0",  # never
    ("/org.openoffice.Office.Calc/Content/Update", "Link"): "1",  # never
    ("/org.openoffice.Office.Recovery/AutoSave", "Enabled"): "false",
    ("/org.openoffice.Office.Recovery/RecoveryInfo", "Enabled"): "false",
    (f"{_COMMON}/Misc", "FirstRun"): "false",
    (f"{_COMMON}/Misc", "CrashReport"): "false",
    ("/org.openoffice.Inet/Settings", "ooInetProxyType"): "0",  # none, and none taken from the system
}
_XML_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
"""


def write_profile(directory: Path) -> None:
    """Make the profile in ``directory``, which must not exist yet."""
    user = directory / "user"
    user.mkdir(parents=True)
    items = [
        f"<item oor:path={quoteattr(path)}><prop oor:name={quoteattr(name)} oor:op='fuse'>"
        f"<value>{value}</value></prop></item>\n"
        for (path, name), value in _SETTINGS.items()
    ]
    text = _XML_HEAD + "".join(items) + "</oor:items>\n"
    (user / "registrymodifications.xcu").write_text(text, encoding="utf-8")
