//! The options of `lately-import`, and the part of them that identifies an import.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::ValueEnum;
use jiff::Timestamp;
use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;
use lately_designs::{Design, KeyAttributes, NaturalOrder};
use lately_keys::{Actor, EventType, ShardCount, ShardCountError, Topic, User};

use crate::mapping::{Mapping, ValueSource};

/// Import a table of a published design into a topic of Lately. If it is stopped, another run continues; no event is
/// imported twice
///
/// It finds credentials, region and endpoint as the AWS command line does.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "lately-import", version)]
pub struct ImportOptions {
    /// The design that the table was built with
    #[arg(long, value_name = "DESIGN")]
    design: DesignName,

    /// The table to import; it is only read
    #[arg(long, value_name = "NAME")]
    pub table: String,

    /// The table's partition key attribute
    #[arg(long, value_name = "NAME", default_value = "pk")]
    pk: String,

    /// The table's sort key attribute
    #[arg(long, value_name = "NAME", default_value = "sk")]
    sk: String,

    /// The user to import, with reverse-ticks, chronological and user-month; repeatable
    #[arg(long = "user", value_name = "USER")]
    pub(crate) users: Vec<User>,

    /// The number of shards of a sharded-day table
    #[arg(long, value_name = "N", value_parser = parse_shards)]
    day_shards: Option<ShardCount>,

    /// The direction in which a chronological table counts its ticks
    #[arg(long, value_name = "ORDER")]
    natural: Option<Natural>,

    /// The UTC offset at which the days of an inverted-uuid table begin, such as +09:00 [default: +00:00]
    #[arg(long, value_name = "OFFSET", value_parser = parse_offset, allow_hyphen_values = true)]
    offset: Option<Offset>,

    /// Lately's table: a stack's output TableName, or `lately` for the local program
    #[arg(long, value_name = "NAME")]
    pub into: String,

    /// The topic to import into; it must exist
    #[arg(long, value_name = "TOPIC")]
    pub(crate) topic: Topic,

    /// The number of shards per bucket, fixed by the first run of an import [default: the topic's min_shards]
    #[arg(long, value_name = "N", value_parser = parse_shards)]
    pub(crate) shards: Option<ShardCount>,

    #[command(flatten)]
    types: Types,

    #[command(flatten)]
    actors: Actors,

    /// The attribute that holds an event's subject; an item without it gets no subject
    #[arg(long, value_name = "ATTRIBUTE")]
    subject_from: Option<String>,

    /// The attribute that holds an event's data [default: an object of all other attributes]
    #[arg(long, value_name = "ATTRIBUTE")]
    data_from: Option<String>,

    /// Import items at or after this time [default: the end of the last import; 1970 if a partition has no end]
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<Timestamp>,

    /// Import items before this time, at least a minute ago [default: a minute before the start]
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<Timestamp>,

    /// Write units per second, indexes included. A shard takes 1,000, and live writes need some of them
    #[arg(long, value_name = "N", default_value = "500")]
    pub(crate) rate: NonZeroU32,

    /// The file with the import's progress [default: named after the design, the table and the topic, in this folder]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,

    /// Report items that cannot become events and continue, instead of stopping there
    #[arg(long)]
    pub(crate) skip_invalid: bool,

    /// Read one page, print its first events as they would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Exactly one of the two is required: every event has a type.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Types {
    /// The attribute that holds an event's type
    #[arg(long, value_name = "ATTRIBUTE")]
    type_from: Option<String>,

    /// The type of all events
    #[arg(long = "type", value_name = "TYPE")]
    event_type: Option<EventType>,
}

/// At most one of the two. Without either, the actor is the user of the partition.
#[derive(Clone, Debug, clap::Args)]
#[group(multiple = false)]
struct Actors {
    /// The attribute that holds an event's actor
    #[arg(long, value_name = "ATTRIBUTE")]
    actor_from: Option<String>,

    /// The actor of all events [default: the user, if the design has users]
    #[arg(long, value_name = "ACTOR")]
    actor: Option<Actor>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DesignName {
    ReverseTicks,
    Chronological,
    ShardedDay,
    UserMonth,
    InvertedUuid,
    QuarterHour,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Natural {
    NewestFirst,
    OldestFirst,
}

/// Events of a table that have one order, and their mapping.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub(crate) design: Design,
    pub(crate) mapping: Mapping,
}

/// The options contradict one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// The design needs an option.
    #[error("this design needs {0}")]
    Needed(&'static str),
    /// The design does not have an option.
    #[error("this design does not take {0}")]
    Foreign(&'static str),
    /// No option gives the actor.
    #[error("this design needs --actor-from or --actor")]
    NoActor,
}

impl DesignName {
    /// True if each partition of the design belongs to a user.
    const fn has_users(self) -> bool {
        matches!(self, Self::ReverseTicks | Self::Chronological | Self::UserMonth)
    }
}

impl ImportOptions {
    /// The timelines to import, one after the other.
    pub(crate) fn timelines(&self) -> Result<Vec<Timeline>, OptionsError> {
        let Self { design, users, day_shards, natural, offset, .. } = self;
        let foreign = [
            (!users.is_empty() && !design.has_users(), "--user"),
            (day_shards.is_some() && *design != DesignName::ShardedDay, "--day-shards"),
            (natural.is_some() && *design != DesignName::Chronological, "--natural"),
            (offset.is_some() && *design != DesignName::InvertedUuid, "--offset"),
        ];
        if let Some((_, option)) = foreign.into_iter().find(|(is_foreign, _)| *is_foreign) {
            return Err(OptionsError::Foreign(option));
        }
        if users.is_empty() && design.has_users() {
            return Err(OptionsError::Needed("--user"));
        }
        let by_user = |design: &dyn Fn(User) -> Design| {
            let timeline = |user: &User| self.timeline(design(user.clone()), Some(user));
            users.iter().map(timeline).collect()
        };
        let single = |design| Ok(vec![self.timeline(design, None)?]);
        match design {
            DesignName::ReverseTicks => by_user(&|user| Design::ReverseTicks { user }),
            DesignName::Chronological => {
                let natural = match natural.ok_or(OptionsError::Needed("--natural"))? {
                    Natural::NewestFirst => NaturalOrder::NewestFirst,
                    Natural::OldestFirst => NaturalOrder::OldestFirst,
                };
                by_user(&|user| Design::Chronological { user, natural })
            }
            DesignName::ShardedDay => {
                single(Design::ShardedDay { shards: day_shards.ok_or(OptionsError::Needed("--day-shards"))? })
            }
            DesignName::UserMonth => by_user(&|user| Design::UserMonth { user }),
            DesignName::InvertedUuid => {
                single(Design::InvertedUuid { offset: offset.unwrap_or(Offset::UTC) })
            }
            DesignName::QuarterHour => single(Design::QuarterHour),
        }
    }

    fn timeline(&self, design: Design, user: Option<&User>) -> Result<Timeline, OptionsError> {
        let event_type = match (&self.types.event_type, &self.types.type_from) {
            (Some(event_type), _) => ValueSource::Always(event_type.clone()),
            (None, from) => ValueSource::Attribute(from.clone().ok_or(OptionsError::Needed("--type"))?),
        };
        let actor = match (&self.actors.actor, &self.actors.actor_from, user) {
            (Some(actor), ..) => ValueSource::Always(actor.clone()),
            (None, Some(from), _) => ValueSource::Attribute(from.clone()),
            (None, None, user) => {
                let actor = user.and_then(|user| user.as_str().parse().ok());
                ValueSource::Always(actor.ok_or(OptionsError::NoActor)?)
            }
        };
        let (subject_from, data_from) = (self.subject_from.clone(), self.data_from.clone());
        Ok(Timeline { design, mapping: Mapping { event_type, actor, subject_from, data_from } })
    }

    /// The table's key attributes.
    pub(crate) fn keys(&self) -> KeyAttributes {
        KeyAttributes { pk: self.pk.clone(), sk: self.sk.clone() }
    }

    /// The options that identify an import, by their names: its source, its target and the mapping of items.
    pub(crate) fn identity(&self) -> BTreeMap<String, String> {
        let design = self.design.to_possible_value();
        let natural = self.natural.and_then(|natural| natural.to_possible_value());
        let said = [
            ("design", design.map(|design| design.get_name().to_owned())),
            ("table", Some(self.table.clone())),
            ("pk", Some(self.pk.clone())),
            ("sk", Some(self.sk.clone())),
            ("day-shards", self.day_shards.map(|shards| shards.to_string())),
            ("natural", natural.map(|natural| natural.get_name().to_owned())),
            ("offset", self.offset.map(|offset| offset.to_string())),
            ("into", Some(self.into.clone())),
            ("topic", Some(self.topic.to_string())),
            ("type-from", self.types.type_from.clone()),
            ("type", self.types.event_type.as_ref().map(ToString::to_string)),
            ("actor-from", self.actors.actor_from.clone()),
            ("actor", self.actors.actor.as_ref().map(ToString::to_string)),
            ("subject-from", self.subject_from.clone()),
            ("data-from", self.data_from.clone()),
        ];
        said.into_iter().filter_map(|(name, said)| Some((name.to_owned(), said?))).collect()
    }

    /// The file with the import's progress.
    pub(crate) fn state(&self, design: &Design) -> PathBuf {
        let named = || format!("import-{}-{}-{}.json", design.name(), self.table, self.topic).into();
        self.state.clone().unwrap_or_else(named)
    }
}

fn parse_shards(text: &str) -> Result<ShardCount, String> {
    let shards = text.parse().ok().and_then(|count| ShardCount::new(count).ok());
    shards.ok_or_else(|| ShardCountError.to_string())
}

fn parse_offset(text: &str) -> Result<Offset, String> {
    // jiff parses an offset only after a time, and nothing may follow the offset.
    let at = format!("1970-01-01T00:00{text}");
    let pieces =
        Pieces::parse(&at).ok().filter(|_| !text.contains('[') && !text.starts_with([':', '.', ',']));
    pieces
        .and_then(|pieces| pieces.to_numeric_offset())
        .ok_or_else(|| "must be a UTC offset such as +09:00".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn parse(line: &str) -> Result<ImportOptions, clap::Error> {
        let words = ["lately-import", "--table", "old", "--into", "lately", "--topic", "posts"];
        ImportOptions::try_parse_from(words.into_iter().chain(line.split(' ')))
    }

    fn timelines(line: &str) -> Result<Vec<Timeline>, OptionsError> {
        parse(line).expect(line).timelines()
    }

    #[test]
    fn each_design_takes_its_own_options() {
        let designs = |line: &str| -> Vec<Design> {
            let timelines = timelines(&format!("--type t --actor a --design {line}")).expect(line);
            timelines.into_iter().map(|timeline| timeline.design).collect()
        };
        let user = |name: &str| name.parse::<User>().expect("a name");
        assert_eq!(
            designs("reverse-ticks --user ada --user bob"),
            [Design::ReverseTicks { user: user("ada") }, Design::ReverseTicks { user: user("bob") }]
        );
        let natural = NaturalOrder::OldestFirst;
        assert_eq!(
            designs("chronological --natural oldest-first --user ada"),
            [Design::Chronological { user: user("ada"), natural }]
        );
        let shards = ShardCount::new(4).expect("a power of two");
        assert_eq!(designs("sharded-day --day-shards 4"), [Design::ShardedDay { shards }]);
        assert_eq!(designs("user-month --user ada"), [Design::UserMonth { user: user("ada") }]);
        assert_eq!(designs("inverted-uuid"), [Design::InvertedUuid { offset: Offset::UTC }]);
        let offset = Offset::from_seconds(-(5 * 60 + 30) * 60).expect("an offset");
        assert_eq!(designs("inverted-uuid --offset -05:30"), [Design::InvertedUuid { offset }]);
        assert_eq!(designs("quarter-hour"), [Design::QuarterHour]);
    }

    #[test]
    fn missing_and_foreign_options_are_reported() {
        use OptionsError::{Foreign, Needed, NoActor};
        for (line, error) in [
            ("--type t --design reverse-ticks", Needed("--user")),
            ("--type t --design chronological --user ada", Needed("--natural")),
            ("--type t --design sharded-day --actor a", Needed("--day-shards")),
            ("--type t --design quarter-hour", NoActor),
            ("--type t --design quarter-hour --user ada", Foreign("--user")),
            ("--type t --design quarter-hour --day-shards 4", Foreign("--day-shards")),
            ("--type t --design user-month --user ada --natural newest-first", Foreign("--natural")),
            ("--type t --design sharded-day --offset +09:00", Foreign("--offset")),
        ] {
            assert_eq!(timelines(line).map(|_| ()), Err(error), "{line}");
        }
        for line in [
            "--design quarter-hour",
            "--design quarter-hour --type t --type-from kind",
            "--design quarter-hour --type T",
            "--design sharded-day --type t --day-shards 3",
            "--design inverted-uuid --type t --offset 9",
            "--design inverted-uuid --type t --offset :30Z",
            "--design inverted-uuid --type t --offset +09:00[Asia/Tokyo]",
            "--design quarter-hour --type t --rate 0",
            "--design quarter-hour --type t --since yesterday",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn the_user_is_the_actor_unless_another_is_named() {
        let actor = |line: &str| {
            let timelines = timelines(&format!("--type t --design user-month --user ada{line}"));
            timelines.expect(line).remove(0).mapping.actor
        };
        let always = |name: &str| ValueSource::Always(name.parse().expect("a name"));
        assert_eq!(actor(""), always("ada"));
        assert_eq!(actor(" --actor bob"), always("bob"));
        assert_eq!(actor(" --actor-from who"), ValueSource::Attribute("who".to_owned()));
    }
}
