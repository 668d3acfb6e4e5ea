"""Whether the site can be read without a network, and every link within it leads somewhere.

python docs/check.py build/docs/html
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "source": "src", "iframe": "src", "link": "href"}
IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]*)")
NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author", "copyright"}


class Page(HTMLParser):
    """What a page loads, where it links to, and the places in it that can be linked to."""

    def __init__(self, path: Path):
        super().__init__()
        self.loads: set[str] = set()
        self.links: set[str] = set()
        self.places = {"", "top"}
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag in LOADED and LOADED[tag] in given and given.get("rel") not in NOT_LOADED:
            self.loads.add(given[LOADED[tag]])


def troubles(site: Path) -> list[str]:
    paths = [path.resolve() for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Page(path) for path in paths}
    found = [] if pages else [f"{site} has no pages"]
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for url in sorted(page.loads | page.links):
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                if url in page.loads and parts.scheme != "data":
                    found.append(f"{name} loads {url} from outside")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{name} links to {url}, which is not there")
            elif target in pages and unquote(parts.fragment) not in pages[target].places:
                found.append(f"{name} links to {url}, a page without that place")
    for style in sorted(site.rglob("*.css")):
        for url in IN_STYLES.findall(style.read_text("utf-8")):
            found.append(f"{style.relative_to(site)} loads {url} from outside")
    return found


if __name__ == "__main__":
    found = troubles(Path(sys.argv[1]))
    print("\n".join(found) or "every link leads somewhere, and nothing is loaded from outside")
    sys.exit(bool(found))
