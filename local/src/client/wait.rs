//! The wait for work that the service goes on with after its response, with its progress.

use std::time::Duration;

use lately_client::{Answer, Operation};
use tokio::time::Instant;

use crate::client::access::Api;
use crate::client::session::Session;
use crate::client::status_line::StatusLine;
use crate::failure::Failure;

/// The time between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// Repeats an operation until its answer says that the work is done: then it has no progress. The wait ends with the
/// command: the work continues without it.
pub(super) async fn until_done<T>(
    session: &mut Session<'_>,
    operation: impl Fn(&Api) -> Operation<T>,
    progress: impl Fn(&T) -> Option<String>,
) -> Result<Answer<T>, Failure> {
    let mut line = StatusLine::begun(Instant::now());
    loop {
        let answer = session.ask(operation(&session.api)).await?;
        let Some(progress) = progress(&answer.value) else {
            line.clear(session.stderr)?;
            return Ok(answer);
        };
        line.show(Instant::now(), session.stderr, || progress)?;
        tokio::time::sleep(EVERY).await;
    }
}
