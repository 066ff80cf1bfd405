"""Write the LibreOffice profile of one conversion, which is deleted afterwards."""

from pathlib import Path
from xml.sax.saxutils import quoteattr

_COMMON = "/org.openoffice.Office.Common"
_SECURITY = f"{_COMMON}/Security/Scripting"
# (path, name) -> value
_SETTINGS: dict[tuple[str, str], str] = {
    (_SECURITY, "BlockUntrustedRefererLinks"): "true",  # documents are untrusted: no links are followed
    (_SECURITY, "DisableMacrosExecution"): "true",
    (_SECURITY, "DisableActiveContent"): "true",  # since LibreOffice 7.5; earlier versions ignore it
    (_SECURITY, "MacroSecurityLevel"): "3",  # very high
    (_SECURITY, "CheckDocumentEvents"): "true",
    ("/org.openoffice.Office.Writer/Content/Update", "Link"): "0",  # never
    ("/org.openoffice.Office.Calc/Content/Update", "Link"): "1",  # never
    ("/org.openoffice.Office.Recovery/AutoSave", "Enabled"): "false",
    ("/org.openoffice.Office.Recovery/RecoveryInfo", "Enabled"): "false",
    (f"{_COMMON}/Misc", "FirstRun"): "false",
    (f"{_COMMON}/Misc", "CrashReport"): "false",
    ("/org.openoffice.Inet/Settings", "ooInetProxyType"): "0",  # no proxy, also not that of the system
}
_XML_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
"""


def write_profile(directory: Path) -> None:
    """Create the profile in ``directory``, which must not exist."""
    user = directory / "user"
    user.mkdir(parents=True)
    items = [
        f"<item oor:path={quoteattr(path)}><prop oor:name={quoteattr(name)} oor:op='fuse'>"
        f"<value>{value}</value></prop></item>\n"
        for (path, name), value in _SETTINGS.items()
    ]
    text = _XML_HEAD + "".join(items) + "</oor:items>\n"
    (user / "registrymodifications.xcu").write_text(text, encoding="utf-8")
