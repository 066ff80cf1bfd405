"""Real documents, pictures and sounds, which Schemathesis sends where the description expects them."""

import schemathesis
from hypothesis import strategies as st

from tests.support.documents.images import make_mp3_frame, make_picture
from tests.support.documents.pdfs import simple_pdf

_PDFS = [simple_pdf(pages=pages) for pages in (1, 3)]

schemathesis.openapi.media_type("application/pdf", st.sampled_from(_PDFS))
schemathesis.openapi.media_type("image/png", st.just(make_picture()))
schemathesis.openapi.media_type("audio/mpeg", st.just(make_mp3_frame() * 4))
