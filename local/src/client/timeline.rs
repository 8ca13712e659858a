//! Pages of events: the arguments that select them, and their output.

use std::collections::BTreeMap;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use lately_client::{Answer, Operation, Order, PageQuery, Timeline};
use lately_keys::{Actor, EventType, Subject, Topic};
use lately_model::{PageSize, PageUnread};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::client::session::Session;
use crate::failure::{Failure, Result};
use crate::terminal::Terminal;
use crate::text::{json_line, plain};
use crate::text_table::TextTable;
use crate::time_argument::{Bound, parse_bound};

/// The timeline that `lately latest` prints.
#[derive(Clone, Debug, clap::Args)]
#[group(id = "timeline", required = true, multiple = true)]
pub struct TimelineArguments {
    /// The topic
    topic: Option<Topic>,

    /// Events of this actor
    #[arg(long, value_name = "ACTOR", conflicts_with = "subject")]
    actor: Option<Actor>,

    /// Events of this subject
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<Subject>,
}

/// The selection of events, and the size of a page.
#[derive(Clone, Debug, clap::Args)]
pub struct PageArguments {
    /// Events per page: 1 to 200
    #[arg(short = 'n', value_name = "N", default_value = "20")]
    limit: PageSize,

    /// The number of pages to print
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pages: u32,

    /// Only events of this type
    #[arg(long = "type", value_name = "TYPE")]
    event_type: Option<EventType>,

    /// Only events at or after this time, such as 2026-11-20T09:30:00Z, or the time since then, such as 30m, 1h or 2d
    #[arg(long, value_name = "TIME", value_parser = parse_bound)]
    from: Option<Bound>,

    /// Only events before this time
    #[arg(long, value_name = "TIME", value_parser = parse_bound)]
    to: Option<Bound>,

    /// The order: newest first or oldest first [default: desc]
    #[arg(long, value_name = "ORDER", value_parser = order_parser())]
    order: Option<Order>,

    /// Include every acknowledged write: a consistent read, at twice the price
    #[arg(long)]
    consistent: bool,

    /// Continue after an earlier page, from its cursor, with the same arguments
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,

    /// Print the events' ids too
    #[arg(long)]
    ids: bool,
}

/// Reads an order by its name in the API.
fn order_parser() -> impl TypedValueParser<Value = Order> {
    let names = [("desc", "Newest first"), ("asc", "Oldest first")];
    let names = names.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(names).map(|name| name.parse().expect("the name of an order"))
}

/// A table of events: a column for each of these fields of an event.
#[derive(Debug)]
pub(super) struct EventTable {
    fields: Vec<&'static str>,
    table: TextTable,
}

impl EventTable {
    pub(super) fn new(terminal: &Terminal<'_>, topic: bool, id: bool) -> Self {
        let fields = ["id", "at", "topic", "type", "actor", "subject", "data"].into_iter();
        let fields: Vec<_> =
            fields.filter(|field| (id || *field != "id") && (topic || *field != "topic")).collect();
        let titles: Vec<_> = fields.iter().map(|field| if *field == "at" { "time" } else { field }).collect();
        Self { table: terminal.table(&titles), fields }
    }

    /// Prints events: with `--json` as they are, else as rows.
    pub(super) fn print(&mut self, events: &[Box<RawValue>], session: &mut Session<'_>) -> Result<()> {
        if session.json {
            return events.iter().try_for_each(|event| session.terminal.print_json(event.get()));
        }
        let rows = events.iter().map(|event| self.row(event)).collect::<Result<Vec<_>, _>>()?;
        session.terminal.rows(&mut self.table, &rows)
    }

    /// The data is printed as it was sent.
    fn row(&self, event: &RawValue) -> Result<Vec<String>> {
        let event: BTreeMap<String, Box<RawValue>> = read(event)?;
        let cell = |field: &&str| match (*field, event.get(*field)) {
            ("data", data) => Ok(data.map_or_else(String::new, |data| json_line(data.get()).into_owned())),
            (_, Some(text)) => read(text),
            (_, None) => Ok("-".to_owned()),
        };
        self.fields.iter().map(cell).collect()
    }
}

/// Reads a part of a response.
pub(super) fn read<'a, T: Deserialize<'a>>(json: &'a RawValue) -> Result<T> {
    serde_json::from_str(json.get()).map_err(Failure::foreign)
}

impl TimelineArguments {
    pub(super) async fn print(self, page: PageArguments, session: &mut Session<'_>) -> Result<()> {
        let Self { topic, actor, subject } = self;
        let (timeline, topic, several_topics) = match (actor, subject, topic) {
            (Some(actor), _, topic) => (session.api.actor(actor).entries(), topic, true),
            (None, Some(subject), topic) => (session.api.subject(subject).entries(), topic, true),
            (None, None, Some(topic)) => (session.api.topic(topic).entries(), None, false),
            (None, None, None) => unreachable!("clap requires one of them"),
        };
        page.print(timeline, topic, several_topics, session).await
    }
}

impl PageArguments {
    /// Prints the pages of a timeline; only events of `topic`, if it is given.
    pub(crate) async fn print(
        self,
        timeline: Timeline<Box<RawValue>>,
        topic: Option<Topic>,
        several_topics: bool,
        session: &mut Session<'_>,
    ) -> Result<()> {
        let mut table = EventTable::new(&session.terminal, several_topics, self.ids);
        let mut cursor = self.cursor.clone();
        for _ in 0..self.pages {
            let query = self.query(cursor.take(), topic.as_ref());
            let Answer { value: page, response, .. } = session.ask(timeline.page(&query)).await?;
            if session.json {
                session.print_body(&response)?;
            } else {
                table.print(&page.events, session)?;
                if let Ok(PageUnread { unread, unread_more }) = response.json() {
                    let more = if unread_more { " or more" } else { "" };
                    let empty = if page.events.is_empty() { "the feed is empty; " } else { "" };
                    session.terminal.log(format_args!("{empty}{unread}{more} unread"))?;
                }
                if page.events.is_empty() && self.order == Some(Order::OldestFirst) {
                    session.terminal.log("no events; oldest first, a page ends two seconds ago")?;
                }
            }
            cursor = page.next;
            if !page.has_more {
                break;
            }
        }
        let Some(cursor) = cursor.filter(|_| !session.json) else { return Ok(()) };
        session.terminal.log(format_args!("more: --cursor {}{}", plain(&cursor), self.ends()))
    }

    /// The ends of the range that must be given with a cursor, where the same text would now be another time.
    fn ends(&self) -> String {
        let ends = [("from", self.from), ("to", self.to)].into_iter();
        let relative = ends.filter_map(|(name, end)| Some((name, end.filter(|end| end.is_relative)?)));
        relative.map(|(name, end)| format!(" --{name} {}", end.at)).collect()
    }

    fn query(&self, cursor: Option<String>, topic: Option<&Topic>) -> PageQuery {
        PageQuery {
            limit: Some(self.limit.get()),
            event_type: self.event_type.as_ref().map(ToString::to_string),
            from: self.from.map(|from| from.at.to_string()),
            to: self.to.map(|to| to.at.to_string()),
            order: self.order,
            consistent: self.consistent.then_some(true),
            cursor,
            topic: topic.map(ToString::to_string),
            ..PageQuery::default()
        }
    }
}

/// Sends an operation, and prints the event of its response.
pub(super) async fn show_event<T>(operation: Operation<T>, session: &mut Session<'_>) -> Result<()> {
    let event = session.ask(operation.reading()).await?.value;
    EventTable::new(&session.terminal, false, true).print(&[event], session)
}
