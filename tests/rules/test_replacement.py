"""The effects of a replacement, and when it is allowed."""

import json
from typing import Any

import pytest

from docshare.contract.problems import Problem
from docshare.server.rules import replacement

MB = 1024 * 1024


@pytest.mark.parametrize(
    ("values", "keeps"),
    [
        (["false"], True),
        (["0"], True),
        ([], False),
        ([""], False),
        (["False"], False),
        (["FALSE"], False),
        (["no"], False),
        (["off"], False),
        (["00"], False),
        (["0.0"], False),
        ([" 0"], False),
        (["true"], False),
        (["1"], False),
        (["0", "0"], False),
        (["false", "true"], False),
    ],
)
def test_only_exactly_false_or_0_keeps_anchors(values: list[str], keeps: bool) -> None:
    """``clearAnchors`` keeps anchors only for exactly ``false`` or ``0``."""
    assert replacement.parse_keep_anchors(values) is keeps


@pytest.mark.parametrize(("delete_at", "is_gone"), [(None, False), (1001, False), (1000, True), (999, True)])
def test_an_expired_link_rejects_a_replacement(delete_at: int | None, is_gone: bool) -> None:
    if not is_gone:
        replacement.require_not_expired(delete_at, 1000)
        return
    with pytest.raises(Problem) as refused:
        replacement.require_not_expired(delete_at, 1000)
    assert (refused.value.code, refused.value.status) == ("gone", 410)


@pytest.mark.parametrize(("burned_at", "consumed", "after"), [(None, 0, 0), (None, 4, 4), (5, 4, 0)])
def test_only_a_burned_link_restarts_its_view_count(burned_at: int | None, consumed: int, after: int) -> None:
    assert replacement.reset_views_consumed(burned_at, consumed) == after


@pytest.mark.parametrize(
    ("settings", "variants_trim", "refused"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"pageRange": {"from": 1, "to": 2}}, False, True),
        ({"watermark": True}, False, True),
        ({"watermark": True, "allowDownload": True}, False, True),
        ({"watermark": True, "allowDownload": False}, False, False),
        ({"watermark": False}, False, False),
    ],
)
def test_settings_limited_to_100_mb_apply_to_the_replacement(
    settings: dict[str, Any], variants_trim: bool, refused: bool
) -> None:
    text = json.dumps(settings)
    replacement.require_servable(text, variants_trim, 100 * MB)
    if not refused:
        replacement.require_servable(text, variants_trim, 100 * MB + 1)
        return
    with pytest.raises(Problem) as problem:
        replacement.require_servable(text, variants_trim, 100 * MB + 1)
    assert problem.value.code == "payload_too_large"
