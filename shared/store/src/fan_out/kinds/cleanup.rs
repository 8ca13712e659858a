//! Cleanup: when a user no longer follows a source, the source's entries are removed from the user's feed.
//!
//! Cleanup first records the leaver, then walks through the feed. A process that read the followers before the user
//! unfollowed writes its entries first and reads the leavers then. So one of the two removes each entry, also after a crash.
//!
//! The user may follow again at any moment, and the backfill of that follow runs beside the cleanup. So after it
//! removed entries, the cleanup reads the follows again, and puts back the entries that they allow.
//!
//! The walk takes place even if the user follows the source again by now. An event that was deleted between the two
//! follows was removed only from the feeds of the followers at that time, so not from this user's feed.
//!
//! A feed has one cleanup, however often its user unfollows. A record looks at one page of the feed. If the feed has more,
//! the source is added to the feed's item, and steps of that item walk through the feed for all its sources together.
//! A source that is added during a walk waits for the next one. So no unfollow makes a walk of its own.

use std::collections::BTreeSet;

use lately_items::event::{ACTOR, SUBJECT};
use lately_items::limits::ENDING_MARK_SECONDS;
use lately_items::{
    CleanupStep, CleanupStepKey, FeedEntryKey, FollowerKey, LeaverKey, StepName, TimelineEntry,
};
use lately_keys::{EventId, Source, TableKey, UnixMillis, User};
use lately_table::{Condition, Item, Rounds, TableError, Update};

use crate::fan_out::batch::FanOut;
use crate::lane::LanePage;
use crate::op::Op;
use crate::scan::rest_of;

/// Sources that the filter of a query names. A walk for more sources reads every entry.
const FILTERED_SOURCES: usize = 20;

/// Sources that a feed's item lists: some KB. A walk for more sources looks at the entries of all sources.
const LISTED_SOURCES: u64 = 100;

/// The sources of a walk; `None` stands for all.
type WalkedSources = Option<BTreeSet<Source>>;

/// Removes from a user's feed the entries of a source that the user no longer follows, or begins to.
pub(crate) async fn begin(fan_out: FanOut<'_>, key: &FollowerKey, at: UnixMillis) -> Result<(), TableError> {
    let FollowerKey { source, shard, user } = key;
    let leaver_key = LeaverKey { source: source.clone(), shard: *shard, at, user: user.clone() };
    let leaver = Item::mark(&leaver_key, at.get() / 1000 + ENDING_MARK_SECONDS);
    fan_out.op.table.put(&leaver).await?;
    fan_out.op.user(user).whole_follow(key).await?;
    fan_out.settle_marker(user, source).await?;
    let sources = BTreeSet::from([source.clone()]);
    if clean_page(fan_out, user, Some(&sources), None).await?.is_some() {
        add(fan_out.op, user, source).await?;
    }
    Ok(())
}

/// Adds a source to the cleanup of a feed, which begins with it if there is none.
pub(super) async fn add(op: &Op, user: &User, source: &Source) -> Result<(), TableError> {
    let key = CleanupStepKey { user: user.clone() };
    let left = BTreeSet::from([source.clone()]);
    let has_room =
        Condition::absent(CleanupStep::LEFT).or(Condition::size_at_most(CleanupStep::LEFT, LISTED_SOURCES));
    let extension = Update::of(&key)
        .add(CleanupStep::LEFT, &left)
        .add(CleanupStep::EXTENDED, 1_u64)
        .only_if(Condition::any_item().and(has_room));
    let all = Update::of(&key)
        .set(CleanupStep::LEFT_ALL, true)
        .add(CleanupStep::EXTENDED, 1_u64)
        .only_if(Condition::any_item());
    let mut rounds = Rounds::of(&op.table, "the cleanup of the feed");
    while !op.table.update(&extension).await? {
        let first = CleanupStep {
            user: user.clone(),
            name: StepName::first(op.now()),
            extended: 0,
            left: Some(left.clone()),
            left_all: false,
            walked: None,
            walked_all: false,
            behind: None,
        };
        let is_first = op.table.put_if(&first.encode(), &Condition::no_item()).await?.is_none();
        if is_first || op.table.update(&all).await? {
            return Ok(());
        }
        rounds.lose()?;
    }
    Ok(())
}

/// Runs a step of a feed's cleanup, and changes its item to the next step. Sources may be added at any moment: they stay in
/// the item.
pub(super) async fn run(fan_out: FanOut<'_>, step: CleanupStep) -> Result<(), TableError> {
    let op = fan_out.op;
    let key = CleanupStepKey { user: step.user.clone() };
    let is_stored = Condition::equals(StepName::BEGUN, step.name.begun.get())
        .and(Condition::equals(StepName::NUMBER, step.name.number));
    let Some(sources) = walked(op, &step, &is_stored).await? else { return Ok(()) };
    let mut behind = step.behind;
    let mut is_over = false;
    for _ in 0..op.store.feeds.queries_per_step {
        match clean_page(fan_out, &step.user, sources.as_ref(), behind).await {
            Ok(Some(next)) => behind = Some(next),
            Ok(None) => {
                is_over = true;
                break;
            }
            // The feed is busy. The next step begins where this one has come to.
            Err(TableError::Busy(_)) if behind != step.behind => break,
            Err(error) => return Err(error),
        }
    }
    if is_over {
        let nothing_left = Condition::absent(CleanupStep::LEFT).and(Condition::absent(CleanupStep::LEFT_ALL));
        let is_last = is_stored.clone().and(nothing_left);
        if op.table.delete_if(key.encode(), &is_last).await?.is_none() {
            return Ok(());
        }
    }
    let mut next = Update::of(&key).set(StepName::NUMBER, step.name.next().number);
    next = if is_over {
        next.remove(CleanupStep::BEHIND).remove(CleanupStep::WALKED).remove(CleanupStep::WALKED_ALL)
    } else {
        next.assign(CleanupStep::BEHIND, behind.as_ref())
    };
    op.table.update(&next.only_if(is_stored)).await?;
    Ok(())
}

/// The sources of the walk. A walk that has none takes those that wait, before it looks at any entry: what is added later
/// is for the next walk. `None` if the item holds another step by now.
async fn walked(
    op: &Op,
    step: &CleanupStep,
    is_stored: &Condition,
) -> Result<Option<WalkedSources>, TableError> {
    let key = CleanupStepKey { user: step.user.clone() };
    let mut step = step.clone();
    let mut rounds = Rounds::of(&op.table, "the cleanup of the feed");
    loop {
        if step.walked_all {
            return Ok(Some(None));
        }
        if step.walked.is_some() {
            return Ok(Some(step.walked));
        }
        // Everything that waits is listed, unless there was no room.
        let waiting = if step.left_all { None } else { step.left };
        let mut take = Update::of(&key).remove(CleanupStep::LEFT).remove(CleanupStep::LEFT_ALL);
        take = match &waiting {
            Some(sources) => take.set(CleanupStep::WALKED, sources),
            None => take.set(CleanupStep::WALKED_ALL, true),
        };
        let is_same = is_stored.clone().and(Condition::equals(CleanupStep::EXTENDED, step.extended));
        if op.table.update(&take.only_if(is_same)).await? {
            return Ok(Some(waiting));
        }
        rounds.lose()?;
        let Some(item) = op.table.get(key.encode()).await? else { return Ok(None) };
        let now = CleanupStep::decode(&item)?;
        if now.name != step.name {
            return Ok(None);
        }
        step = now;
    }
}

/// Removes the unfollowed entries of one page of a feed. Returns where the rest begins.
async fn clean_page(
    fan_out: FanOut<'_>,
    user: &User,
    sources: Option<&BTreeSet<Source>>,
    behind: Option<EventId>,
) -> Result<Option<EventId>, TableError> {
    let op = fan_out.op;
    let mut query = rest_of(FeedEntryKey::partition(user), behind, op.store.feeds.entries_per_query);
    if let Some(sources) = sources
        && sources.len() <= FILTERED_SOURCES
        && let Some(is_of_source) = sources.iter().map(is_of).reduce(Condition::or)
    {
        query = query.filter(is_of_source);
    }
    let mut found = LanePage::read(op, &query, TimelineEntry::decode).await?;
    if let Some(sources) = sources {
        found.items.retain(|entry| entry.sources().any(|source| sources.contains(&source)));
    }
    fan_out.remove_unfollowed(user, found.items).await?;
    Ok(found.stopped_at)
}

fn is_of(source: &Source) -> Condition {
    match source {
        Source::Actor(name) => Condition::equals(ACTOR, name.as_str()),
        Source::Subject(name) => Condition::equals(SUBJECT, name.as_str()),
    }
}
