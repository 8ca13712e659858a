//! How far a user has seen their feed, and how much is newer.
//!
//! ```text
//! FEED#{user} / #SEEN    id S (the newest event that the user has seen; the mark never moves back)
//! ```
//!
//! The count is exact up to the bound of one request ([`UNITS_PER_REQUEST`]), and says when it stopped there; it costs what
//! reading the counted entries costs. Where nothing is pulled, DynamoDB itself counts. Where something is, an event may be
//! listed several times (pushed, and by two sources), so the ids are read and each counted once.
//!
//! [`UNITS_PER_REQUEST`]: crate::limits::UNITS_PER_REQUEST

use std::collections::HashSet;

use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, Select};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_keys::table::{FeedEntryKey, SourceEntryKey};
use lately_keys::{Actor, EventId, Order, UnixMillis};
use lately_model::Unread;
use lately_model::limits::FUTURE_SECONDS;

use crate::entry::TimelineEntry;
use crate::error::TableError;
use crate::feed::FeedHandle;
use crate::feed::marks::seen_mark;
use crate::item::{Item, number, text};
use crate::latest::span::IdRange;
use crate::limits::{QUERIES_AT_ONCE, UNITS_PER_REQUEST};
use crate::timeline::filter::Filter;
use crate::timeline::range::EntryRange;

/// Why a feed could not be marked as seen.
#[derive(Debug, thiserror::Error)]
pub enum SeeError {
    /// The event's time has not come: what is unread when it does would never be shown as such.
    #[error("the event is in the future")]
    InFuture,
    /// The table could not be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl FeedHandle<'_> {
    /// Marks a feed as seen up to an event, that event included. If more was seen already, nothing changes.
    ///
    /// # Errors
    /// See [`SeeError`].
    pub async fn see(self, id: EventId) -> Result<(), SeeError> {
        let user = self.user;
        // No event is older than it says by more than this.
        if id.at() > self.op.now().saturating_add(FUTURE_SECONDS * 1000) {
            return Err(SeeError::InFuture);
        }
        let mark = seen_mark(user, id);
        let put = self
            .op
            .table
            .call_if(|| {
                self.op
                    .table
                    .client
                    .put_item()
                    .table_name(&*self.op.table.name)
                    .set_item(Some(mark.clone()))
                    // Ids as text are in the order of ids.
                    .condition_expression("attribute_not_exists(pk) OR id < :id")
                    .expression_attribute_values(":id", text(id.to_string()))
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await?;
        self.op.table.meter.write(put.as_ref().and_then(|answer| answer.consumed_capacity()));
        Ok(())
    }

    /// How many entries of a feed are newer than its seen mark and not the user's own. With `topics`, only those
    /// of one of them are counted.
    ///
    /// # Errors
    /// If the table could not be read.
    pub async fn unread(self) -> Result<Unread, TableError> {
        let topics = self.op.allowed_topics();
        let user = self.user;
        // Consistently, so that who has just seen everything has nothing unread.
        let marks = self.marks(None, true).await?;
        let oldest = match marks.seen {
            None => Some(EventId::first_of(UnixMillis::MIN)),
            Some(seen) => seen.just_after(),
        };
        let newest = EventId::last_of(UnixMillis::MAX);
        let Some(ids) = oldest.and_then(|oldest| IdRange::new(oldest, newest)) else {
            return Ok(Unread::default());
        };
        let now = self.op.now();
        let unread = if marks.pulls.is_empty() && topics.is_none() {
            self.count_pushed(ids, now).await?
        } else {
            let myself = Actor::from(user);
            let counted = Counted { filter: Filter::seen_by(topics, now), myself: &myself };
            let pulls = marks.pulls.iter().filter_map(|pull| {
                let ids = IdRange::new(ids.oldest.max(pull.since), ids.newest)?;
                Some((SourceEntryKey::partition(&pull.source), ids))
            });
            let partitions: Vec<_> =
                [(FeedEntryKey::partition(user), ids)].into_iter().chain(pulls).collect();
            self.count_all(&partitions, counted).await?
        };
        let shown = usize::try_from(unread.unread).unwrap_or(usize::MAX);
        self.op.show(shown);
        Ok(unread)
    }

    /// Counts what was pushed into a feed, until its end or the bound of the request.
    async fn count_pushed(self, ids: IdRange, now: UnixMillis) -> Result<Unread, TableError> {
        let user = self.user;
        let mut unread = 0;
        let mut start: Option<Item> = None;
        loop {
            let answer = self
                .op
                .table
                .query(|query| {
                    query
                        .key_condition_expression("pk = :pk AND sk BETWEEN :newest AND :oldest")
                        .filter_expression(
                            "a <> :user AND (attribute_not_exists(expires_at) OR expires_at > :now)",
                        )
                        .select(Select::Count)
                        .expression_attribute_values(":pk", text(FeedEntryKey::partition(user)))
                        .expression_attribute_values(":newest", text(ids.newest.sort_key().to_string()))
                        .expression_attribute_values(":oldest", text(ids.oldest.sort_key().to_string()))
                        .expression_attribute_values(":user", text(user.as_str()))
                        .expression_attribute_values(":now", number(now.get() / 1000))
                        .set_exclusive_start_key(start.clone())
                })
                .await?;
            self.op.table.meter.items(usize::try_from(answer.scanned_count()).unwrap_or(0));
            unread += u64::try_from(answer.count()).unwrap_or(0);
            start = answer.last_evaluated_key;
            let more = start.is_some();
            if !more || self.op.table.is_spent() {
                return Ok(Unread { unread, more });
            }
        }
    }

    /// Counts what several partitions list, each event once: sixteen bytes of memory for each.
    async fn count_all(
        self,
        partitions: &[(String, IdRange)],
        counted: Counted<'_>,
    ) -> Result<Unread, TableError> {
        // An entry has 1 KB at most: so that the first queries of all lists together stay within the bound.
        let limit = u32::try_from(UNITS_PER_REQUEST * 8 / partitions.len() as u64).unwrap_or(u32::MAX);
        let lists: Vec<_> = (0..)
            .zip(partitions)
            .map(|(number, (partition, ids))| async move {
                let mut unread = HashSet::new();
                let mut rest = Some(*ids);
                while let Some(ids) = rest {
                    let order = Order::NewestFirst;
                    let range = EntryRange { partition, ids, order, consistent: false };
                    let found = self.op.timeline_entries(&range, Some(limit.max(1))).await?;
                    rest = found.rest(&range);
                    let counted = found.entries.iter().filter(|entry| counted.takes(entry, number > 0));
                    unread.extend(counted.map(|entry| entry.id));
                    if self.op.table.is_spent() {
                        break;
                    }
                }
                Ok::<_, TableError>((unread, rest.is_some()))
            })
            .collect();
        let (mut all, mut more) = (HashSet::new(), false);
        let mut lists = stream::iter(lists).buffer_unordered(QUERIES_AT_ONCE);
        while let Some((list, goes_on)) = lists.try_next().await? {
            all.extend(list);
            more |= goes_on;
        }
        Ok(Unread { unread: all.len() as u64, more })
    }
}

/// What is counted as unread.
#[derive(Clone, Copy, Debug)]
struct Counted<'a> {
    filter: Filter<'a>,
    myself: &'a Actor,
}

impl Counted<'_> {
    fn takes(&self, entry: &TimelineEntry, pulled: bool) -> bool {
        let in_feed = !pulled || entry.fans_out;
        in_feed && entry.actor != *self.myself && self.filter.takes(entry)
    }
}
