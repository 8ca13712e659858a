//! The callers who take part in a scenario, and the topic that they use.

use lately_keys::UnixMillis;
use lately_kit::clock;

use crate::client::scenario::call::{ScenarioAnswer, ScenarioCaller, ScenarioRun, StepFailure};

/// The most pages that a walk reads. A table in use may have many topics.
const PAGES: usize = 1_000;

/// The callers and the topic of one run.
pub(super) struct Cast<'a> {
    pub(super) scenario: &'a ScenarioRun,
    /// A text that is unique to this run. Names contain it.
    pub(super) run: String,
    pub(super) topic: String,
    pub(super) admin: ScenarioCaller<'a>,
    pub(super) ada: ScenarioCaller<'a>,
    pub(super) bob: ScenarioCaller<'a>,
    /// A caller without a token.
    pub(super) nobody: ScenarioCaller<'a>,
    /// A caller with an invalid token.
    pub(super) stranger: ScenarioCaller<'a>,
}

/// Reads all pages, passes each to `show`, and returns the last.
pub(super) async fn walk(
    caller: &ScenarioCaller<'_>,
    target: &str,
    mut show: impl FnMut(&ScenarioAnswer),
) -> Result<ScenarioAnswer, StepFailure> {
    let mut page = caller.get(target).gives(200).await?;
    show(&page);
    for _ in 0..PAGES {
        let Some(next) = page.at("/next").as_str() else { return Ok(page) };
        page = caller.get(format_args!("{target}&cursor={next}")).gives(200).await?;
        show(&page);
    }
    Err(page.never("the last page"))
}

/// The time now.
pub(super) fn now() -> UnixMillis {
    let millis = u64::try_from(clock::unix_now().as_millis()).unwrap_or(u64::MAX);
    UnixMillis::new(millis).unwrap_or(UnixMillis::MAX)
}
