//! `lately tail` and `lately feed tail`: the last events of a topic or a feed, oldest first, and then new events as they
//! arrive.
//!
//! Each event is printed once. The last events are read newest first. New events are followed from that page's `newer`
//! cursor, which may repeat events of two seconds; events that were printed are skipped. When the server cannot be
//! reached or fails, the command says so once and retries.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

use lately_client::{
    Cost, FollowOptions, Followed, Lately, PageQuery, Problem, Stream, Timeline, TryStreamExt,
};
use lately_keys::{EventId, EventType};
use lately_model::{Event, PageSize};
use reqwest::Url;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
#[cfg(unix)]
use {std::os::fd::AsFd, tokio::io::Interest, tokio::net::unix::pipe::Sender};

use crate::client::access::parse_url;
use crate::client::session::Session;
use crate::client::timeline::{EventTable, read};
use crate::failure::{Failure, Result};
use crate::time_argument::{Bound, parse_bound};

/// The most events of a page.
const LIMIT: u16 = PageSize::MAX.get();

/// The selection of events, and whether new events are awaited.
#[derive(Clone, Debug, clap::Args)]
pub struct TailArguments {
    /// The number of last events: 0 to 200
    #[arg(short = 'n', value_name = "N", default_value_t = 10, conflicts_with = "from", value_parser = clap::value_parser!(u16).range(..=i64::from(LIMIT)))]
    last: u16,

    /// All events since this time, such as 2026-11-20T09:30:00Z, or the time since then, such as 30m, 1h or 2d
    #[arg(long, value_name = "TIME", value_parser = parse_bound)]
    from: Option<Bound>,

    /// Only events of this type
    #[arg(long = "type", value_name = "TYPE")]
    event_type: Option<EventType>,

    /// Wait for new events and print them
    #[arg(short, long)]
    follow: bool,

    /// Print the events' ids too
    #[arg(long)]
    ids: bool,

    /// The URL of the live routes, if it is not the API's: the stack's output LiveUrl
    #[arg(long, env = "LATELY_LIVE_URL", value_name = "URL", value_parser = parse_url)]
    live_url: Option<Url>,
}

/// The cursor after which new events are followed, and the last events, which the follow may repeat. Older events were not
/// asked for.
type TailPosition = (Option<String>, BTreeSet<EventId>);

impl TailArguments {
    /// Prints the events of a timeline.
    pub(super) async fn print(
        self,
        session: &mut Session<'_>,
        several_topics: bool,
        timeline: impl Fn(&Lately) -> Timeline<Box<RawValue>>,
    ) -> Result<()> {
        let mut table = EventTable::new(&session.terminal, several_topics, self.ids);
        let (cursor, seen) = self.print_last(&timeline(&session.api), &mut table, session).await?;
        if !self.follow {
            return Ok(());
        }
        // The lines for standard error: costs, and how the follow fares. Nobody reads them once the command has ended.
        let (sender, lines) = mpsc::unbounded_channel();
        let (costs, prints_cost) = (sender.clone(), session.cost);
        let api = session.api.using(|options| {
            options.live_url = self.live_url.map(String::from);
            options.on_call = Some(Arc::new(move |call| {
                if prints_cost && call.cost != Cost::default() {
                    drop(costs.send(call.cost.to_string()));
                }
            }));
        });
        let on_interruption = move |problem: Option<&Problem>| {
            drop(sender.send(match problem {
                Some(problem) => format!("{}; retrying", Failure::from(Box::new(problem.clone()))),
                None => "reading again".to_owned(),
            }));
        };
        let events = timeline(&api).follow(FollowOptions {
            cursor,
            event_type: self.event_type.map(|event_type| event_type.to_string()),
            on_interruption: Some(Arc::new(on_interruption)),
            ..FollowOptions::default()
        });
        follow(events, &seen, lines, &mut table, session).await
    }

    /// Prints the last events, or all since a time. The result is the position for following new events.
    async fn print_last(
        &self,
        timeline: &Timeline<Box<RawValue>>,
        table: &mut EventTable,
        session: &mut Session<'_>,
    ) -> Result<TailPosition> {
        let event_type = self.event_type.as_ref().map(ToString::to_string);
        let mut query = PageQuery { limit: Some(self.last.max(1)), event_type, ..PageQuery::default() };
        let (mut newer, mut wanted, mut events) = (None, usize::from(self.last), Vec::new());
        if let Some(from) = self.from {
            // The cursors of a range are no cursors of a follow.
            let newest = PageQuery { limit: Some(1), ..query.clone() };
            newer = session.ask(timeline.page(&newest)).await?.value.newer;
            (query.from, query.limit, wanted) = (Some(from.at.to_string()), Some(LIMIT), usize::MAX);
        }
        // A page of large events ends early, but has at least one event, so there are no more pages than events.
        loop {
            let page = session.ask(timeline.page(&query)).await?.value;
            newer = newer.or(page.newer);
            events.extend(page.events);
            query.cursor = page.next.filter(|_| page.has_more);
            if query.cursor.is_none() || events.len() >= wanted {
                break;
            }
        }
        let seen = events.iter().map(|event| Ok(read::<Event>(event)?.id)).collect::<Result<_>>()?;
        events.truncate(wanted);
        events.reverse();
        table.print(&events, session)?;
        session.terminal.stdout.flush()?;
        Ok((newer, seen))
    }
}

/// Prints new events until the user ends the command, the output is closed, or the timeline can no longer be read.
async fn follow(
    mut events: Stream<Followed<Box<RawValue>>>,
    seen: &BTreeSet<EventId>,
    mut lines: mpsc::UnboundedReceiver<String>,
    table: &mut EventTable,
    session: &mut Session<'_>,
) -> Result<()> {
    let (mut interrupted, mut closed) = (pin!(tokio::signal::ctrl_c()), pin!(output_closed()));
    loop {
        tokio::select! {
            Some(line) = lines.recv() => session.terminal.log(line)?,
            followed = events.try_next() => {
                let Some(Followed { event, late, .. }) = followed? else { return Ok(()) };
                let Event { id, .. } = read(&event)?;
                let is_asked_for = late || seen.first().is_none_or(|first| *first < id);
                if is_asked_for && !seen.contains(&id) {
                    table.print(&[event], session)?;
                    session.terminal.stdout.flush()?;
                }
            }
            interrupted = &mut interrupted => return Ok(interrupted?),
            () = &mut closed => return Ok(()),
        }
    }
}

/// Waits until the reader of the output has closed it, so that a command whose output nobody reads ends before the next
/// event. If the system cannot check this, the next event ends the command.
async fn output_closed() {
    #[cfg(unix)]
    if let Ok(output) = std::io::stdout().as_fd().try_clone_to_owned()
        && let Ok(output) = Sender::from_owned_fd_unchecked(output)
        && output.ready(Interest::ERROR).await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
