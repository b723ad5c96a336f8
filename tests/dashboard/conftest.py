"""The service on a temporary SQLite file, listening, and pages of a browser signed in by role.

Browser tests are skipped with the reason where there is no Chromium; in CI (CI=true) they must run.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from contract.service.tokens import Role
from tests.api.documents import processor_document
from tests.api.running import migrate_sqlite, quiet_logs
from tests.dashboard.browsing import Guard, chromium, guarded_page, have_signed_in
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard, served_copy


@pytest.fixture(scope="session", autouse=True)
def _quiet_logs() -> None:
    quiet_logs()


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dashboard") / "template.db"
    migrate_sqlite(path)
    return path


@pytest.fixture(scope="module")
def module_dashboard(
    migrated_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedDashboard]:
    with served_copy(migrated_file, tmp_path_factory.mktemp("served")) as served:
        yield served


@pytest.fixture
def dashboard(module_dashboard: ServedDashboard) -> ServedDashboard:
    """A service with the stream `logins`, listening on a port of its own."""
    module_dashboard.begin_anew()
    return module_dashboard


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a module.

    Not of a session: until it ends, Playwright's event loop counts as running in this thread, and
    tests that come after could run none of their own.
    """
    with chromium() as launched:
        yield launched


@pytest.fixture
def guarded(browser: Browser, dashboard: ServedDashboard) -> Iterator[tuple[Page, Guard]]:
    """A page that nobody is signed in to, and its guard."""
    with guarded_page(browser, dashboard.url) as (page, guard):
        yield page, guard


@pytest.fixture
def page(guarded: tuple[Page, Guard]) -> Page:
    """A page that nobody is signed in to; it must stay free of errors and of foreign requests."""
    return guarded[0]


@pytest.fixture
def guard(guarded: tuple[Page, Guard]) -> Guard:
    """What watches over `page`: `guard.expect(409)` allows answers that a test provokes."""
    return guarded[1]


@pytest.fixture
def admin_page(page: Page, dashboard: ServedDashboard) -> Page:
    have_signed_in(page, dashboard.url, dashboard.token_of[Role.ADMIN])
    return page


@pytest.fixture
def editor(admin_page: Page) -> Iterator[Page]:
    """The page of a new rule."""
    admin_page.goto("/streams/logins/new-rule")
    admin_page.get_by_role("textbox", name="The rule").wait_for()
    yield admin_page
    # A draft that is left asks before the tab is closed; a test does not.
    admin_page.evaluate("sessionStorage.clear()")


@pytest.fixture
def page_of(browser: Browser, dashboard: ServedDashboard) -> Iterator[Callable[[Role], Page]]:
    """Opens pages signed in to by role."""
    with ExitStack() as stack:

        def opened(role: Role) -> Page:
            page, _guard = stack.enter_context(guarded_page(browser, dashboard.url))
            have_signed_in(page, dashboard.url, dashboard.token_of[role])
            return page

        yield opened


@pytest.fixture
def start_job(dashboard: ServedDashboard) -> Callable[..., ReportingJob]:
    """Starts jobs of the stream `logins`, by name."""

    def started(name: str = "main") -> ReportingJob:
        return ReportingJob(dashboard.client, dashboard.clock, name=name)

    return started


@pytest.fixture
def reporting_job(start_job: Callable[..., ReportingJob]) -> ReportingJob:
    """The job `main` of the stream `logins`; it has registered and reported nothing yet."""
    return start_job()


@pytest.fixture
def running_rule(dashboard: ServedDashboard, reporting_job: ReportingJob) -> ReportingJob:
    """The job `main`, which runs the rule `failed-logins`."""
    dashboard.publish(processor_document())
    reporting_job.run_batch()
    return reporting_job
