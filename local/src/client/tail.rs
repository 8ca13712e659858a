//! `lately tail`: the last events of a topic, oldest first, and then new events as they arrive.
//!
//! Each event is printed once. The last events are read newest first. New events are read from that page's `newer`
//! cursor, which may repeat events of two seconds; events that were printed are skipped. When the server cannot be
//! reached or fails, the command says so once and retries.

use std::collections::BTreeSet;
use std::time::Duration;

use lately_keys::{EventId, Topic};
use lately_model::PageSize;
use serde_json::value::RawValue;

use crate::client::ask::{Access, Call, target};
use crate::client::failure::Failure;
use crate::client::session::{Screen, Session, read};
use crate::client::text_table::TextTable;
use crate::client::timeline::{Columns, ShownEvent, ShownPage, rows};

/// The wait between two reads, and the longest wait between two reads that fail.
const PAUSE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(15)];

/// The most events of a page.
const LIMIT: u16 = PageSize::MAX.get();

/// Print the last events of a topic, oldest first, and with -f also new events
#[derive(Clone, Debug, clap::Args)]
pub struct TailOptions {
    /// The topic
    topic: Topic,

    /// The number of last events: 0 to 200
    #[arg(short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(..=i64::from(LIMIT)))]
    last: u16,

    /// Wait for new events and print them
    #[arg(short, long)]
    follow: bool,

    /// Print the events' ids too
    #[arg(long)]
    ids: bool,

    #[command(flatten)]
    access: Access,
}

/// A topic and its output.
struct Tail<'a> {
    session: Session<'a>,
    path: String,
    columns: Columns,
    table: TextTable,
}

/// The position after which the next read begins.
struct TailPosition {
    cursor: Option<String>,
    /// The last events, which a read may repeat. Older events were not asked for.
    seen: BTreeSet<EventId>,
}

pub(super) async fn run(options: TailOptions, screen: Screen<'_>) -> Result<(), Failure> {
    let TailOptions { topic, last, follow, ids, access } = options;
    let session = Session::open(access, screen)?;
    let columns = Columns { topic: false, id: ids };
    let table = session.table(&columns.titles());
    let mut tail = Tail { session, path: format!("/topics/{topic}/events"), columns, table };
    let rest = tail.print_last(last).await?;
    if follow { tail.follow(rest).await } else { Ok(()) }
}

impl Tail<'_> {
    /// Prints the last events. The result is the position for reading new events.
    async fn print_last(&mut self, last: u16) -> Result<TailPosition, Failure> {
        let (mut events, mut newer, mut cursor) = (Vec::new(), None, None);
        let wanted = usize::from(last);
        // A page of large events ends early, but has at least one event, so there are no more pages than events.
        loop {
            let left = u16::try_from(wanted - events.len()).unwrap_or(LIMIT).max(1);
            let query = [("limit", Some(left.to_string())), ("cursor", cursor.take())];
            let reply = self.session.ask(&Call::get(target(&self.path, &query))).await?;
            let page: ShownPage<'_> = read(&reply)?;
            newer = newer.or(page.newer);
            events.extend(page.events.into_iter().map(ToOwned::to_owned));
            cursor = page.next;
            if events.len() >= wanted || cursor.is_none() {
                break;
            }
        }
        let seen =
            events.iter().map(|event| Ok(ShownEvent::read(event)?.id)).collect::<Result<_, Failure>>()?;
        events.truncate(wanted);
        events.reverse();
        let events: Vec<&RawValue> = events.iter().map(|event| &**event).collect();
        self.print(&events)?;
        Ok(TailPosition { cursor: newer, seen })
    }

    fn print(&mut self, events: &[&RawValue]) -> Result<(), Failure> {
        if self.session.json {
            events.iter().try_for_each(|event| self.session.print_json(event.get()))?;
        } else {
            self.session.rows(&mut self.table, &rows(self.columns, events)?)?;
        }
        Ok(self.session.screen.out.flush()?)
    }

    /// Prints new events until the output is closed or the topic can no longer be read.
    async fn follow(&mut self, mut rest: TailPosition) -> Result<(), Failure> {
        let [shortest, longest] = PAUSE;
        let mut pause = shortest;
        loop {
            match self.print_next(&mut rest).await {
                Ok(has_more) => {
                    if pause > shortest {
                        self.session.tell("reading again")?;
                        pause = shortest;
                    }
                    if has_more {
                        continue;
                    }
                }
                Err(failure) if failure.passes() => {
                    if pause == shortest {
                        self.session.tell(format_args!("{failure}; retrying"))?;
                    }
                    pause = (pause * 2).min(longest);
                }
                Err(failure) => return Err(failure),
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Prints the next page. True if another page can be read at once.
    async fn print_next(&mut self, rest: &mut TailPosition) -> Result<bool, Failure> {
        let query = [
            ("limit", Some(LIMIT.to_string())),
            ("order", Some("asc".to_owned())),
            ("cursor", rest.cursor.clone()),
        ];
        let reply = self.session.ask(&Call::get(target(&self.path, &query))).await?;
        let page: ShownPage<'_> = read(&reply)?;
        let mut new = Vec::new();
        for event in page.events {
            let ShownEvent { id, .. } = ShownEvent::read(event)?;
            let is_asked_for = rest.seen.first().is_none_or(|first| *first < id);
            if is_asked_for && !rest.seen.contains(&id) {
                new.push(event);
            }
        }
        self.print(&new)?;
        rest.cursor = page.next;
        Ok(page.has_more)
    }
}
