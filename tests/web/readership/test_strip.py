"""The strip of pages on the report page, and its head."""

from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import World
from tests.web.readership.test_page import get_report_page, read_document


def test_the_strip_of_pages_is_colored_by_time_and_opens_the_page(world: World) -> None:
    made = world.pia.upload()
    read_document(world, made["shortId"], {1: 20, 2: 8}, address="203.0.113.7")
    read_document(world, made["shortId"], {1: 20}, address="198.51.100.9")
    page = get_report_page(sign_in_browser(world, world.pia), made["uuid"])
    leaves = page.find_all("li", class_="leaf")
    assert [leaf.find_one("div", class_="paper").attrs["class"] for leaf in leaves] == [
        "paper warm-5", "paper warm-2", "paper warm-0",
    ]  # fmt: skip
    share = page.find_one("p", class_="address").find_one("a").attrs["href"]
    assert [leaf.find_one("a").attrs["href"] for leaf in leaves] == [f"{share}#page={number}" for number in (1, 2, 3)]
    reach = [leaf.find_one("p", class_="leaf-reach").words for leaf in leaves]
    assert reach == ["100% reached it", "50% reached it1 left before", "0% reached it1 left before"]
    assert page.find_one("p", class_="heat-legend").words.startswith("Average time")
    assert [step.words for step in page.find_all("span", class_="heat-step")] == ["up to 4s", "8s", "12s", "16s", "20s"]


def test_the_head_shows_the_first_page_and_the_way_back(world: World) -> None:
    made = world.pia.upload()
    page = get_report_page(sign_in_browser(world, world.pia), made["uuid"])
    assert page.find_one("img", class_="cover").attrs["src"] == f"/{made['shortId']}/pages/1-240.jpg?v=1"
    trail = page.find_one("nav", class_="trail")
    assert [link.attrs["href"] for link in trail.find_all("a")] == ["/files", f"/files/{made['uuid']}"]
