"""Pages that show the first page of a PDF with pdf.js, from a server with byte ranges and compressed scripts.

They are as small as a viewer with pdf.js can be: one canvas, without a toolbar, a text layer, or fonts.
"""

import gzip
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

PACKAGE = "pdfjs-dist@5.6.205"
_PAGE = b"""<!doctype html><meta name="viewport" content="width=device-width"><canvas style="width: 100%"></canvas>
<script type="module">
import { getDocument, GlobalWorkerOptions } from "./pdf.min.mjs";
GlobalWorkerOptions.workerSrc = "./pdf.worker.min.mjs";
const options = { url: "report.pdf", disableStream: true, disableAutoFetch: true }; // load only the parts of page 1
const page = await (await getDocument(options).promise).getPage(1);
const canvas = document.querySelector("canvas");
const viewport = page.getViewport({ scale: (innerWidth * devicePixelRatio) / page.getViewport({ scale: 1 }).width });
[canvas.width, canvas.height] = [viewport.width, viewport.height];
await page.render({ canvas, viewport }).promise;
window.firstShownAt = performance.now();
</script>"""
# A part of the page: the address has "scale" in screen pixels per point, and the part in screen pixels.
_PART = b"""<!doctype html><meta name="viewport" content="width=device-width"><style>body { margin: 0 }</style>
<canvas style="display: block"></canvas>
<script type="module">
import { getDocument, GlobalWorkerOptions } from "./pdf.min.mjs";
GlobalWorkerOptions.workerSrc = "./pdf.worker.min.mjs";
const part = Object.fromEntries([...new URLSearchParams(location.search)].map(([key, value]) => [key, Number(value)]));
const page = await (await getDocument("report.pdf").promise).getPage(1);
const canvas = document.querySelector("canvas");
const viewport = page.getViewport({ scale: part.scale, offsetX: -part.left, offsetY: -part.top });
[canvas.width, canvas.height] = [part.width, part.height];
canvas.style.width = `${part.width / devicePixelRatio}px`;
await page.render({ canvas, viewport }).promise;
window.firstShownAt = performance.now();
</script>"""
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


def fetch_pdfjs(folder: Path) -> Path | None:
    """Download pdf.js with npm into ``folder`` and return its scripts; None without npm or network."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    done = subprocess.run(
        [npm, "pack", "--silent", PACKAGE], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode != 0:
        return None
    with tarfile.open(folder / done.stdout.split()[-1]) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package" / "build"


@contextmanager
def serve_pdfjs(scripts: Path, pdf: bytes) -> Iterator[str]:
    """Yield the address of the page, which sets ``window.firstShownAt`` once the first page of ``pdf`` is drawn.

    The page at ``part?scale=&left=&top=&width=&height=`` below that address draws only a part of the first page.
    """
    packed = {f"/{path.name}": gzip.compress(path.read_bytes()) for path in scripts.glob("*.min.mjs")}

    class Host(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path == "/":
                self._send(200, _PAGE, {"Content-Type": "text/html"})
            elif self.path.startswith("/part?"):
                self._send(200, _PART, {"Content-Type": "text/html"})
            elif self.path in packed:
                self._send(200, packed[self.path], {"Content-Type": "text/javascript", "Content-Encoding": "gzip"})
            elif self.path == "/report.pdf":
                self._send_pdf()
            else:
                self._send(404, b"", {})

        def _send_pdf(self) -> None:
            headers = {"Content-Type": "application/pdf", "Accept-Ranges": "bytes"}
            asked = _RANGE.fullmatch(self.headers.get("Range", ""))
            if asked is None:
                self._send(200, pdf, headers)
                return
            first, last = int(asked[1]), int(asked[2] or len(pdf) - 1)
            part = pdf[first : last + 1]
            headers["Content-Range"] = f"bytes {first}-{first + len(part) - 1}/{len(pdf)}"
            self._send(206, part, headers)

        def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in (headers | {"Content-Length": str(len(body))}).items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True  # pdf.js cancels the whole file once it knows that ranges work

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Host)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
