//! The wait for work that the service goes on with after its response, with its progress.

use std::time::Duration;

use lately_client::{Request, Response};
use lately_kit::clock;
use serde::de::DeserializeOwned;

use crate::client::failure::Failure;
use crate::client::session::{Session, read};
use crate::client::status_line::StatusLine;

/// The time between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// Work that is done, or continues.
pub(super) trait Work: DeserializeOwned {
    /// The progress as text for people; none if the work is done.
    fn progress(&self) -> Option<String>;
}

/// Repeats a request until its response says that the work is done. The wait ends with the command: the work continues
/// without it.
pub(super) async fn until_done<W: Work>(
    session: &mut Session<'_>,
    request: &Request,
) -> Result<Response, Failure> {
    let mut line = StatusLine::begun(clock::monotonic_now());
    loop {
        let reply = session.ask(request).await?;
        let Some(progress) = read::<W>(&reply)?.progress() else {
            line.clear(session.terminal.stderr)?;
            return Ok(reply);
        };
        line.show(clock::monotonic_now(), session.terminal.stderr, || progress)?;
        tokio::time::sleep(EVERY).await;
    }
}
