"""Classification of real user agents."""

import time

import pytest

from docshare.server.rules.agents import parse_user_agent

MOZILLA = "Mozilla/5.0"
WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
IOS = "AppleWebKit/605.1.15 (KHTML, like Gecko)"
WINDOWS = f"{MOZILLA} (Windows NT 10.0; Win64; x64) {WEBKIT}"
IPHONE = f"{MOZILLA} (iPhone; CPU iPhone OS 18_1 like Mac OS X) {IOS}"
ANDROID = f"{MOZILLA} (Linux; Android 10; K) {WEBKIT}"

BROWSERS = [
    (f"{WINDOWS} Chrome/131.0.0.0 Safari/537.36", "Chrome", "Desktop"),
    (f"{WINDOWS} Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0", "Edge", "Desktop"),
    (f"{WINDOWS} Chrome/131.0.0.0 Safari/537.36 OPR/116.0.0.0", "Opera", "Desktop"),
    (f"{WINDOWS} Chrome/130.0.0.0 YaBrowser/24.12.0.0 Safari/537.36", "Yandex", "Desktop"),
    (f"{MOZILLA} (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0", "Firefox", "Desktop"),
    (f"{MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) {IOS} Version/18.1 Safari/605.1.15", "Safari", "Desktop"),
    (f"{IPHONE} Version/18.1 Mobile/15E148 Safari/604.1", "Safari", "Mobile"),
    (f"{IPHONE} CriOS/131.0.6778.73 Mobile/15E148 Safari/604.1", "Chrome", "Mobile"),
    (f"{IPHONE} FxiOS/133.0 Mobile/15E148 Safari/605.1.15", "Firefox", "Mobile"),
    (f"{IPHONE} Version/18.0 EdgiOS/131.0.2903.68 Mobile/15E148 Safari/605.1.15", "Edge", "Mobile"),
    (f"{IPHONE} Mobile/15E148 [FBAN/FBIOS;FBAV/470.0.0.40.107;FBDV/iPhone15,3]", "Safari", "Mobile"),
    (f"{IPHONE} Mobile/21F90 LinkedInApp/9.29.8962", "Safari", "Mobile"),
    (f"{MOZILLA} (iPad; CPU OS 17_7 like Mac OS X) {IOS} Version/17.7 Mobile/15E148 Safari/604.1", "Safari", "Tablet"),
    (f"{ANDROID} Chrome/131.0.0.0 Mobile Safari/537.36", "Chrome", "Mobile"),
    (f"{ANDROID} Chrome/131.0.0.0 Safari/537.36", "Chrome", "Tablet"),
    (f"{ANDROID} SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36", "Samsung Internet", "Mobile"),
    (f"{ANDROID} Version/4.0 Chrome/146.0.7680.174 Mobile Safari/537.36 MetaIAB Facebook", "Chrome", "Mobile"),
    (f"{MOZILLA} (Android 14; Mobile; rv:133.0) Gecko/133.0 Firefox/133.0", "Firefox", "Mobile"),
    (f"{MOZILLA} (Android 14; Tablet; rv:133.0) Gecko/133.0 Firefox/133.0", "Firefox", "Tablet"),
    (f"{MOZILLA} (Linux; Android 9; KFMAWI) {WEBKIT} Silk/110.3.6 like Chrome/110.0.1 Safari/537.36", "Silk", "Tablet"),
    (f"{WINDOWS} Slack/4.39.95 Chrome/124.0 Electron/30 Safari/537.36", "Chrome", "Desktop"),
    (f"{WINDOWS} Code/1.115.0 Chrome/142.0.7444.265 Electron/39.8.5 Safari/537.36", "Chrome", "Desktop"),
    (f"{MOZILLA} (Linux; Android 12; CUBOT X) {WEBKIT} Chrome/120.0.0.0 Mobile Safari/537.36", "Chrome", "Mobile"),
]  # fmt: skip

PROGRAMS = [
    ("", "tool"),
    ("   ", "tool"),
    ("curl/8.5.0", "tool"),
    ("Wget/1.21", "tool"),
    ("python-requests/2.32.0", "tool"),
    ("Go-http-client/1.1", "tool"),
    (f"{MOZILLA} (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "tool"),
    (f"{MOZILLA} {WEBKIT[:-1]}; compatible; GPTBot/1.2)", "tool"),
    (f"{MOZILLA} (X11; Linux x86_64) {WEBKIT} HeadlessChrome/131.0.0.0 Safari/537.36", "tool"),
    (f"{MOZILLA} (Unknown; Linux x86_64) AppleWebKit/538.1 (KHTML, like Gecko) PhantomJS/2.1.1 Safari/538.1", "tool"),
    ("facebookexternalhit/1.1", "preview"),
    ("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "preview"),
    ("Twitterbot/1.0", "preview"),
    ("WhatsApp/2.23.20.0", "preview"),
    ("TelegramBot (like TwitterBot)", "preview"),
    ("LinkedInBot/1.0 (compatible; Mozilla/5.0; +http://www.linkedin.com)", "preview"),
    (f"{MOZILLA} (compatible; Discordbot/2.0; +https://discordapp.com)", "preview"),
    (f"{MOZILLA} (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com", "preview"),
]


@pytest.mark.parametrize(("user_agent", "browser", "device"), BROWSERS)
def test_a_browser_is_identified_by_family_and_device(user_agent: str, browser: str, device: str) -> None:
    agent = parse_user_agent(user_agent)
    assert (agent.browser, agent.device, agent.program) == (browser, device, None)


@pytest.mark.parametrize(("user_agent", "klass"), PROGRAMS)
def test_a_program_is_identified_by_its_name(user_agent: str, klass: str) -> None:
    program = parse_user_agent(user_agent).program
    assert program is not None
    assert program[0] == klass
    assert program[1]


def test_an_unknown_user_agent_is_a_desktop_browser() -> None:
    assert parse_user_agent("Konqueror 42") == parse_user_agent("Konqueror 42")
    assert (parse_user_agent("Konqueror 42").browser, parse_user_agent("Konqueror 42").device) == ("Other", "Desktop")


@pytest.mark.parametrize("text", ["a", " ", "Mozilla/5.0 (", "1.", "bot "])
def test_a_huge_user_agent_is_parsed_quickly(text: str) -> None:
    started = time.process_time()
    parse_user_agent(text * 30_000)
    assert time.process_time() - started < 0.25
