"""The processor time of owners and documents: windows, averages, and the limits that follow from them."""

from docshare.server.pdf.budget import WINDOW_S, ProcessorBudget, SpendingWindow, Tenant

LIMIT_S = 10.0


def test_spent_seconds_expire_after_the_window() -> None:
    ledger = SpendingWindow()
    ledger.add("a", 5.0, 100.0)
    ledger.add("a", 2.0, 400.0)
    assert (ledger.total_s("a", 400.0), ledger.total_s("b", 400.0)) == (7.0, 0.0)
    assert ledger.total_s("a", 100.0 + WINDOW_S + 10) == 2.0
    assert ledger.total_s("a", 400.0 + WINDOW_S + 10) == 0.0


def test_expired_keys_are_removed_from_the_window() -> None:
    ledger = SpendingWindow()
    for number in range(100):
        ledger.add(f"document {number}", 0.1, 1000.0)
    ledger.add("another", 0.1, 1010.0 + WINDOW_S)
    assert len(ledger) == 1


def test_the_least_recently_charged_key_is_dropped_first() -> None:
    ledger = SpendingWindow(max_keys=2)
    for key in ("a", "b", "a", "c"):
        ledger.add(key, 1.0, 0.0)
    assert [ledger.total_s(key, 0.0) for key in "abc"] == [2.0, 0.0, 1.0]


def test_the_average_of_a_document_is_forgotten_after_the_window() -> None:
    budget = ProcessorBudget()
    quick, heavy = Tenant("ada", "quick"), Tenant("ada", "heavy")
    budget.charge(quick, 0.05, 0.0)
    budget.charge(heavy, 5.0, WINDOW_S - 1)
    assert budget.expected_s(quick) == 0.05
    budget.charge(heavy, 5.0, WINDOW_S)
    assert budget.expected_s(quick) > 1  # that of the owner


def test_a_document_that_stalled_is_limited_to_two_seconds_for_every_owner() -> None:
    budget = ProcessorBudget()
    budget.charge(Tenant("mal", "bomb"), 10.0, 0.0, stalled=True)
    assert budget.limit_s(Tenant("mal", "bomb"), LIMIT_S, 1.0) == 2.0
    assert budget.limit_s(Tenant("mallory", "bomb"), LIMIT_S, 1.0) == 2.0
    assert budget.limit_s(Tenant("ann", "report"), LIMIT_S, 1.0) == LIMIT_S
    assert budget.limit_s(Tenant("mal", "bomb"), LIMIT_S, WINDOW_S + 20) == LIMIT_S


def test_quick_pages_do_not_reset_a_stalled_document() -> None:
    budget = ProcessorBudget()
    budget.charge(Tenant("mal", "bomb"), 10.0, 0.0, stalled=True)
    for second in range(100):
        budget.charge(Tenant("mal", "bomb"), 0.02, float(second))
    assert budget.limit_s(Tenant("mal", "bomb"), LIMIT_S, 100.0) == 2.0
    assert budget.is_likely_slow(Tenant("mal", "bomb"), 100.0)


def test_new_documents_of_an_owner_of_slow_documents_are_likely_slow() -> None:
    budget = ProcessorBudget()
    budget.charge(Tenant("mal", "one"), 10.0, 0.0, stalled=True)
    assert budget.is_likely_slow(Tenant("mal", "two"), 1.0)
    assert not budget.is_likely_slow(Tenant("ann", "three"), 1.0)


def test_many_quick_pages_exceed_the_budget_without_being_likely_slow() -> None:
    budget = ProcessorBudget()
    for _ in range(1000):
        budget.charge(Tenant("ann", "report"), 0.05, 0.0)
    assert not budget.is_likely_slow(Tenant("ann", "report"), 1.0)
    assert budget.is_over_budget("ann", 1.0)
    assert budget.limit_s(Tenant("ann", "report"), LIMIT_S, 1.0) == LIMIT_S
