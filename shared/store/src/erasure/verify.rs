//! The proof of an erasure: every item of the table is looked at, and nothing of the person may be left.
//!
//! This is a scan, for an operator, at a given rate. An item is the person's if its key names the person, or if it holds
//! an event of the actor. Such an item is *left*, unless it is younger than the receipt, expires by itself, or holds
//! numbers alone.

use std::num::NonZeroU32;

use lately_items::event::ACTOR;
use lately_items::issue::{OPENED_AT, OPENED_BY};
use lately_items::{
    AnyKey, Backlog, ChangeNote, EXPIRES_AT, ErasedNames, ErasureEntry, ErasureStep, FeedWalk, FollowEdge,
    Follower, FollowerCounts, QuotaHolder, REVISION, Timeline, TimelineEntry, session,
};
use lately_keys::{Actor, Caller, Key, Source, UnixMillis, User};
use lately_model::{Erasure, ErasureReceipt};
use lately_table::{Corrupt, Item, TableError};

use crate::erasure::ids;
use crate::erasure::view;
use crate::handle::ErasuresHandle;
use crate::op::Op;
use crate::paced_scan::PacedScan;

/// An item that names the erased person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureFinding {
    /// The item's key.
    pub key: Key,
    /// Why the item is there.
    pub trace: ErasureTrace,
}

/// Why an item that names an erased person is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasureTrace {
    /// The erasure has missed it.
    Left,
    /// It is younger than the receipt.
    New,
    /// It expires by itself.
    Expires,
    /// It stays: it holds numbers alone, or belongs to an erasure that is under way.
    Kept,
}

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasureCheck {
    /// Items of the table that were looked at.
    pub items: u64,
    /// Items of the person that the erasure has missed.
    pub left: u64,
    /// Items of the person that are younger than the receipt.
    pub new: u64,
    /// Items of the person that expire by themselves.
    pub expiring: u64,
    /// Items of the person that stay, because they hold numbers alone.
    pub kept: u64,
    /// True if the table has the same receipt, for the same names; `None` if the table has no such receipt.
    pub receipt: Option<bool>,
    /// True if the stored ids have the hash of the receipt; `None` if they have expired.
    pub ids: Option<bool>,
}

impl ErasureCheck {
    /// True if nothing is left, and the receipt is the table's.
    pub fn is_proven(&self) -> bool {
        self.left == 0 && self.receipt != Some(false) && self.ids != Some(false)
    }
}

impl ErasuresHandle<'_> {
    /// Compares a receipt with the table, and looks at all items of the table, at most so many in a second. After each
    /// page of items, it calls `progress` with the figures so far and the items of the person on the page.
    pub async fn verify(
        self,
        receipt: &ErasureReceipt,
        items_per_second: NonZeroU32,
        mut progress: impl FnMut(&ErasureCheck, &[ErasureFinding]),
    ) -> Result<ErasureCheck, TableError> {
        let mut check = self.compare(receipt).await?;
        let person = Person(receipt);
        // All sort keys begin with a letter, a digit or `#`.
        let all = ["!".to_owned(), "~".to_owned()];
        let mut scan = PacedScan::new(self.op, all, items_per_second);
        while let Some((op, page)) = scan.next().await? {
            check.items += page.read as u64;
            let mut found = Vec::new();
            for item in &page.items {
                let key = item.key()?;
                let Some(known) = AnyKey::decode(&key.pk, &key.sk) else { continue };
                if !person.is_named(&known, item)? {
                    continue;
                }
                let trace = match followed_since(&op, receipt, &known, item).await? {
                    Some(since) => unless_before(receipt.erasure.started_at, since),
                    None => person.trace(known, item)?,
                };
                match trace {
                    ErasureTrace::Left => check.left += 1,
                    ErasureTrace::New => check.new += 1,
                    ErasureTrace::Expires => check.expiring += 1,
                    ErasureTrace::Kept => check.kept += 1,
                }
                found.push(ErasureFinding { key, trace });
            }
            progress(&check, &found);
        }
        Ok(check)
    }

    /// Compares a receipt with the table's.
    async fn compare(self, receipt: &ErasureReceipt) -> Result<ErasureCheck, TableError> {
        let ErasureReceipt { actor, user, erasure } = receipt;
        let op = self.op.step();
        let stored = op.erasures().step(erasure.id).await?;
        let is_same = stored.map(|step| {
            let Erasure { started_at, not_covered, .. } = erasure.clone();
            let stored = Erasure { started_at, not_covered, ..view(&step) };
            stored == *erasure && step.names == ErasedNames::of(actor.as_ref(), user.as_ref())
        });
        let ids = op.erasures().erased_ids(erasure.id).await?;
        let has_ids = !ids.is_empty() || erasure.counts.events == 0;
        let ids = has_ids.then(|| Some(ids::hash(&ids)) == erasure.ids_sha256);
        Ok(ErasureCheck { receipt: is_same, ids, ..ErasureCheck::default() })
    }
}

/// The person that a receipt is about.
#[derive(Clone, Copy, Debug)]
struct Person<'a>(&'a ErasureReceipt);

impl Person<'_> {
    /// Why an item of the person is there.
    fn trace(self, key: AnyKey, item: &Item) -> Result<ErasureTrace, Corrupt> {
        let expires = || if item.has(EXPIRES_AT) { ErasureTrace::Expires } else { ErasureTrace::Left };
        let Erasure { started_at, finished_at, .. } = self.0.erasure;
        // Records and follows that are younger than the erasure may stay, and so may events that are younger than its end.
        let by_time = |at: UnixMillis| unless_before(started_at, at);
        let by_end = |at: UnixMillis| unless_before(finished_at.unwrap_or(UnixMillis::MAX), at);
        Ok(match key {
            AnyKey::Event(key) => by_end(key.id().at()),
            AnyKey::SourceEntry(key) => by_end(key.id.at()),
            // A pointer that was put for the author before fan-out had the event. It shows nothing without the event.
            AnyKey::FeedEntry(key)
                if item.has(TimelineEntry::POINTER) && by_end(key.id.at()) == ErasureTrace::Left =>
            {
                expires()
            }
            AnyKey::FeedEntry(key) => by_end(key.id.at()),
            AnyKey::Follow(_) => by_time(item.get(FollowEdge::SINCE)?),
            AnyKey::Follower(_) => by_time(item.get(Follower::SINCE)?),
            AnyKey::Profile(_) => {
                by_time(UnixMillis::new(item.get::<u64>(REVISION)? / 1000).unwrap_or(UnixMillis::MAX))
            }
            AnyKey::Session(_) => by_time(item.get(session::CREATED_AT)?),
            AnyKey::UserSession(key) => by_time(key.id.made_at().unwrap_or(UnixMillis::MIN)),
            AnyKey::Issue(_) => by_time(item.get(OPENED_AT)?),
            AnyKey::FollowerCount(_) if !item.has(EXPIRES_AT) => {
                // Somebody follows, or followed, since.
                let FollowerCounts { here, left_at, .. } = FollowerCounts::decode(item)?;
                if here > 0 { ErasureTrace::New } else { by_time(left_at.unwrap_or(UnixMillis::MIN)) }
            }
            // Somebody follows the actor since, or the actor is active again.
            AnyKey::SourceItem(_) if !item.has(EXPIRES_AT) => ErasureTrace::New,
            // The erasure is under way.
            AnyKey::ErasureStep(_) => ErasureTrace::Kept,
            AnyKey::ErasureEntry(_) if !item.has(EXPIRES_AT) => ErasureTrace::Kept,
            _ => expires(),
        })
    }

    /// True if the key of an item names the person, or if the item holds an event of the actor.
    fn is_named(self, key: &AnyKey, item: &Item) -> Result<bool, Corrupt> {
        let is_actor = |actor: &Actor| self.0.actor.as_ref() == Some(actor);
        let is_user = |user: &User| self.0.user.as_ref() == Some(user);
        let is_source = |source: &Source| matches!(source, Source::Actor(actor) if is_actor(actor));
        let is_timeline = |timeline: &Timeline| match timeline {
            Timeline::Topic(_) => false,
            Timeline::Source(source) => is_source(source),
            Timeline::Feed(user) => is_user(user),
        };
        let has_actor = |name| Ok(item.optional(name)?.as_ref().is_some_and(is_actor));
        let has_user = |name| Ok(item.optional(name)?.as_ref().is_some_and(is_user));
        let is_by_actor = || has_actor(ACTOR);
        let names = |actor, user| Ok(has_user(user)? || has_actor(actor)?);
        Ok(match key {
            AnyKey::Event(_) => is_by_actor()?,
            AnyKey::SourceEntry(key) => is_source(&key.source) || is_by_actor()?,
            AnyKey::FeedEntry(key) => is_user(&key.user) || is_by_actor()?,
            AnyKey::Job(key) => is_source(&key.job.source) || is_by_actor()? || has_user(FeedWalk::USER)?,
            AnyKey::Begun(key) => is_source(&key.job.source),
            AnyKey::CleanupStep(key) => is_user(&key.user),
            AnyKey::Backlog(key) => match &key.backlog {
                Backlog::Source(source) => is_source(source),
                Backlog::Feed(user) => is_user(user),
            },
            AnyKey::ChangeNote(_) => match ChangeNote::decode(item)?.changed {
                AnyKey::Follower(key) => is_user(&key.user) || is_source(&key.source),
                AnyKey::FollowerCount(key) => is_source(&key.source),
                AnyKey::SourceItem(key) => is_source(&key.source),
                _ => false,
            },
            AnyKey::Follow(key) => is_user(&key.user) || is_source(&key.source),
            AnyKey::Follower(key) => is_user(&key.user) || is_source(&key.source),
            AnyKey::FollowerCount(key) => is_source(&key.source),
            AnyKey::Leaver(key) => is_user(&key.user) || is_source(&key.source),
            AnyKey::SourceItem(key) => is_source(&key.source),
            AnyKey::PullMarker(key) => is_user(&key.user) || is_source(&key.source),
            AnyKey::SeenMark(key) => is_user(&key.user),
            AnyKey::Idempotency(key) => matches!(&key.caller, Caller::User(user) if is_user(user)),
            AnyKey::Profile(key) => is_user(&key.user),
            AnyKey::Session(_) => has_user(session::USER)?,
            AnyKey::UserSession(key) => is_user(&key.user),
            AnyKey::Quota(key) => matches!(&key.holder, QuotaHolder::Jwt(jwt) if is_user(&jwt.user)),
            AnyKey::Issue(_) => has_user(OPENED_BY)?,
            AnyKey::Watch(key) => is_timeline(&key.timeline),
            AnyKey::LateNote(key) => is_timeline(&key.timeline),
            AnyKey::ErasureStep(_) => names(ErasureStep::ACTOR, ErasureStep::USER)?,
            AnyKey::ErasureEntry(_) => names(ErasureEntry::ACTOR, ErasureEntry::USER)?,
            AnyKey::Directory(_)
            | AnyKey::Topic(_)
            | AnyKey::DeletedEvent(_)
            | AnyKey::Settings(_)
            | AnyKey::IssuerKeys(_)
            | AnyKey::SessionName(_)
            | AnyKey::Repository(_)
            | AnyKey::Consumer(_)
            | AnyKey::Run(_)
            | AnyKey::ReportedLate(_)
            | AnyKey::Announcement(_)
            | AnyKey::LateLog(_)
            | AnyKey::LateBatch(_)
            | AnyKey::EndingMark(_)
            | AnyKey::EndingStep(_)
            | AnyKey::ErasedPage(_) => false,
        })
    }
}

/// The time since which a user follows the source of a feed's marker or entry; `None` if nobody does. An entry of the
/// actor does not belong to any feed.
async fn followed_since(
    op: &Op,
    receipt: &ErasureReceipt,
    key: &AnyKey,
    item: &Item,
) -> Result<Option<UnixMillis>, TableError> {
    match key {
        AnyKey::PullMarker(key) => Ok(op.user(&key.user).edge(&key.source).await?.map(|edge| edge.since)),
        AnyKey::FeedEntry(key) => {
            let entry = TimelineEntry::decode(item)?;
            if receipt.actor.as_ref() == Some(&entry.actor) {
                return Ok(None);
            }
            let edges = op.user(&key.user).edges(std::slice::from_ref(&entry)).await?;
            Ok(edges.into_values().map(|edge| edge.since).max())
        }
        _ => Ok(None),
    }
}

fn unless_before(limit: UnixMillis, at: UnixMillis) -> ErasureTrace {
    if at < limit { ErasureTrace::Left } else { ErasureTrace::New }
}
