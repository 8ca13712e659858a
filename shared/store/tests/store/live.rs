//! Live timelines: early, late and settled events, resumption, sharing, and the prices of followers.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Network, Target, Throttle, When};
use lately_items::{AnyKey, Timeline};
use lately_keys::{EventId, Topic};
use lately_model::{EventQuery, FeedQuery, LiveQuery, NewEvent, SourceQuery};
use lately_store::limits::WINDOW_EVENTS;
use lately_store::{FeedSettings, LiveFollower, LiveMessage, Store, Tally, TimelineError, TopicError, Units};

use crate::listed::{source, user};
use crate::scene::{Scene, about, key};
use crate::support::{Item, World, change, event, ids, items, pass, post, query, store, with_posts};

const SECOND: Duration = Duration::from_secs(1);

async fn follow(store: &Store, timeline: &Timeline, cursor: Option<&str>) -> LiveFollower {
    let query = LiveQuery { cursor: cursor.map(str::to_owned), ..LiveQuery::default() };
    store.op().follow(timeline.clone(), &query, None).await.unwrap()
}

/// The events that a follower tells within some time: `+` for an event, `~` for a late one; with its cursor.
async fn told(follower: &mut LiveFollower, within: Duration) -> Vec<(char, EventId, String)> {
    let mut all = Vec::new();
    let end = tokio::time::Instant::now() + within;
    while let Ok(told) = tokio::time::timeout_at(end, follower.next()).await {
        match told.unwrap() {
            LiveMessage::Event { cursor, event } => all.push(('+', event.event.id, cursor)),
            LiveMessage::Late { cursor, event } => all.push(('~', event.event.id, cursor)),
            LiveMessage::Settled { .. } => {}
        }
    }
    all
}

fn marks(told: &[(char, EventId, String)]) -> Vec<(char, EventId)> {
    told.iter().map(|(mark, id, _)| (*mark, *id)).collect()
}

async fn posts() -> (World, Store, Topic) {
    let (world, _, store, posts) = with_posts("{}").await;
    (world, store, posts)
}

#[tokio::test(start_paused = true)]
async fn an_event_is_told_within_a_tenth_of_a_second_of_a_busy_topic_and_once() {
    let (_, store, posts) = posts().await;
    let mut follower = follow(&store, &Timeline::Topic(posts.clone()), None).await;
    assert_eq!(told(&mut follower, SECOND).await, []);
    let first = post(&store, &posts, vec![event("note", None)]).await[0];
    assert_eq!(marks(&told(&mut follower, Duration::from_millis(120)).await), [('+', first)]);
    let second = post(&store, &posts, vec![event("note", None)]).await[0];
    assert_eq!(marks(&told(&mut follower, 20 * SECOND).await), [('+', second)]);
    // A look takes fewer events than these. They are told when they have settled.
    let many = post(&store, &posts, vec![event("note", None); 3 * WINDOW_EVENTS - 1]).await;
    let expected: Vec<_> = many.into_iter().map(|id| ('+', id)).collect();
    assert_eq!(marks(&told(&mut follower, 20 * SECOND).await), expected);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_used_again_is_another_topic_for_its_followers() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    let timeline = Timeline::Topic(scene.posts.clone());
    let client = scene.engine.live_client();
    let followed = store(client.client(), &scene.world);
    let mut of_deleted = follow(&followed, &timeline, None).await;
    scene.write(vec![event("note", None)]).await;
    let (_, _, cursor) = told(&mut of_deleted, 5 * SECOND).await.remove(0);
    // The loop of the deleted topic cannot read the mark that ends it, until the name is another topic's.
    let notes = Target::operation(Operation::Query).partition("ANNOUNCED#posts");
    client.set_faults(&Faults::default().rule(notes, When::Always, Fault::InternalServerError));
    scene.store.op().ending(&scene.posts).delete().await.unwrap();
    scene.settle().await;
    pass(3 * SECOND).await;
    scene.world.shift(60 * SECOND);
    scene.store.op().topic(&scene.posts).put(&change("{}")).await.unwrap();
    let new = scene.write(vec![event("note", None)]).await[0];
    let mut follower = follow(&followed, &timeline, Some(&cursor)).await;
    client.set_faults(&Faults::default());
    assert_eq!(marks(&told(&mut follower, 20 * SECOND).await), [('+', new)]);
    let end = loop {
        match of_deleted.next().await {
            Ok(LiveMessage::Settled { .. }) => {}
            end => break end,
        }
    };
    assert!(matches!(end, Err(TimelineError::Topic(TopicError::NotFound(_)))), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn late_events_are_told_as_late_on_topics_timelines_and_feeds() {
    let mut scene = Scene::followed().await;
    let timelines = [
        Timeline::Topic(scene.posts.clone()),
        Timeline::Source(source("actor:ada")),
        Timeline::Feed(user("bob")),
        Timeline::Topic(scene.logs.clone()),
    ];
    let mut followers = Vec::new();
    for timeline in &timelines {
        followers.push(follow(&scene.store, timeline, None).await);
    }
    let all_told = async |followers: &mut Vec<LiveFollower>, within: Duration| {
        let told = join_all(followers.iter_mut().map(|follower| told(follower, within))).await;
        told.iter().map(|told| marks(told)).collect::<Vec<_>>()
    };
    all_told(&mut followers, 5 * SECOND).await;
    // A post of the present, which fan-out handles after it has settled; and imports.
    let slow = scene.write(vec![about("x")]).await[0];
    let early = all_told(&mut followers, 5 * SECOND).await;
    assert_eq!(early, [vec![('+', slow)], vec![], vec![], vec![]]);
    let hour_ago = scene.world.now().saturating_sub(3_600_000);
    let import = scene.write(vec![NewEvent { at: Some(hour_ago), ..about("x") }]).await[0];
    let log = scene.post(&scene.logs, vec![NewEvent { at: Some(hour_ago), ..event("note", None) }]).await[0];
    scene.settle().await;
    let mut all = all_told(&mut followers, 10 * SECOND).await;
    for marks in &mut all {
        marks.sort_by_key(|(_, id)| std::cmp::Reverse(*id));
    }
    let mut of_ada = vec![('~', slow), ('~', import), ('~', log)];
    of_ada.sort_by_key(|(_, id)| std::cmp::Reverse(*id));
    // An import is in no feed.
    assert_eq!(all, [vec![('~', import)], of_ada, vec![('~', slow)], vec![('~', log)]]);
    // Redelivered records tell nothing twice.
    assert!(all_told(&mut followers, 20 * SECOND).await.iter().all(Vec::is_empty));
}

#[tokio::test(start_paused = true)]
async fn a_batch_puts_one_note_for_a_timeline_and_no_record_waits_for_it() {
    for is_refused in [false, true] {
        let mut scene = Scene::followed().await;
        let timeline = Timeline::Source(source("actor:ada"));
        let mut follower = follow(&scene.store, &timeline, None).await;
        let posted = scene.write(vec![event("note", None); 50]).await;
        told(&mut follower, 4 * SECOND).await;
        let mut faults = Faults::default();
        if is_refused {
            let notes = Target::operation(Operation::PutItem).partition("LIVE#SOURCE#actor:ada");
            faults = faults.rule(notes, When::Always, Fault::Throttle(Throttle::TableKeyRange));
        }
        let begun = tokio::time::Instant::now();
        let fan_out = store(scene.engine.client_with(faults).client(), &scene.world);
        let news = scene.news();
        let outcome = crate::scene::fan_out(&fan_out, &news).await;
        assert_eq!((outcome.failures, scene.shown("bob").await.len()), (0, 50));
        assert!(begun.elapsed() < SECOND, "{:?}", begun.elapsed());
        let is_note = |item: &Item| matches!(key(item), AnyKey::LateNote(key) if key.timeline == timeline);
        let notes = items(&scene.engine).await.into_iter().filter(is_note).count();
        assert_eq!(notes, usize::from(!is_refused));
        let late: Vec<_> = marks(&told(&mut follower, 5 * SECOND).await);
        let expected: Vec<_> = posted.iter().map(|id| ('~', *id)).collect();
        assert_eq!(late, if is_refused { vec![] } else { expected });
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_with_many_late_events_delivers_all_and_ends_with_its_topic() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    let timeline = Timeline::Topic(scene.posts.clone());
    let network = Network { seed: 3, longest: Duration::from_millis(8), stall: None };
    let live = store(scene.engine.client_with(Faults::default()).over(network), &scene.world);
    let mut follower = follow(&live, &timeline, None).await;
    told(&mut follower, 2 * SECOND).await;
    let at = Some(scene.world.now().saturating_sub(3_600_000));
    let posts = scene.posts.clone();
    let mut imported = BTreeSet::new();
    for _ in 0..16 {
        imported.extend(post(&scene.store, &posts, vec![NewEvent { at, ..event("note", None) }; 500]).await);
        scene.tell().await;
    }
    let mut delivered = BTreeSet::new();
    for (mark, id, _) in told(&mut follower, 20 * SECOND).await {
        assert!(mark == '~' && delivered.insert(id), "each event is sent once, as late");
    }
    assert_eq!(delivered, imported);

    for _ in 0..16 {
        post(&scene.store, &posts, vec![NewEvent { at, ..event("note", None) }; 500]).await;
        scene.tell().await;
    }
    told(&mut follower, 2 * SECOND).await;
    scene.store.op().ending(&posts).delete().await.unwrap();
    let begun = tokio::time::Instant::now();
    while follower.next().await.is_ok() {}
    assert!(begun.elapsed() < 3 * SECOND, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_limited_caller_sees_only_its_topics_and_filters_apply() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    let logs = scene.logs.clone();
    let ada = Timeline::Source(source("actor:ada"));
    let limited = scene.store.op().limited_to(Some(std::slice::from_ref(&logs)));
    let mut limited = limited.follow(ada.clone(), &LiveQuery::default(), None).await.unwrap();
    let of_type = LiveQuery { event_type: Some("like".parse().unwrap()), ..LiveQuery::default() };
    let mut likes = scene.store.op().follow(ada.clone(), &of_type, None).await.unwrap();
    let mut of_posts = scene.store.op().follow(ada, &LiveQuery::default(), Some(&scene.posts)).await.unwrap();
    let shown = scene.write(vec![event("note", None)]).await[0];
    let logged = scene.post(&logs, vec![event("like", None)]).await[0];
    scene.settle().await;
    assert_eq!(marks(&told(&mut limited, 5 * SECOND).await), [('+', logged)]);
    assert_eq!(marks(&told(&mut likes, SECOND).await), [('+', logged)]);
    assert_eq!(marks(&told(&mut of_posts, SECOND).await), [('+', shown)]);
}

#[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
fn units(units: Units) -> f64 {
    units.halves as f64 / 2.0
}

#[tokio::test(start_paused = true)]
async fn the_settled_position_is_told_every_fifteen_seconds_also_while_events_flow() {
    let (world, store, posts) = posts().await;
    let mut follower = follow(&store, &Timeline::Topic(posts.clone()), None).await;
    let writer = async {
        for n in 0..400_u64 {
            pass(Duration::from_millis(if n < 200 { 150 } else { 300 })).await;
            post(&store, &posts, vec![event("note", None)]).await;
        }
        pass(120 * SECOND).await;
    };
    let reader = async {
        let (mut last, mut count) = (world.now(), 0);
        loop {
            if let LiveMessage::Settled { .. } = follower.next().await.unwrap() {
                let now = world.now();
                assert!(now.get() - last.get() <= 15_000, "{}", now.get() - last.get());
                (last, count) = (now, count + 1);
                if count == 15 {
                    return;
                }
            }
        }
    };
    tokio::select! {
        () = writer => panic!("too few positions were told"),
        () = reader => {}
    }
}

/// The read units and calls of all loops over some idle time.
async fn idle(store: &Store, seconds: u32) -> (f64, u64) {
    pass(30 * SECOND).await;
    let Tally { .. } = store.take_tally();
    pass(seconds * SECOND).await;
    let total = store.take_tally();
    (units(total.cost.read_units) / f64::from(seconds), total.cost.calls)
}

#[tokio::test(start_paused = true)]
async fn an_idle_timeline_costs_at_most_one_read_unit_a_second_for_any_number_of_followers() {
    let scene = Scene::new(FeedSettings::default()).await;
    for timeline in [
        Timeline::Topic(scene.posts.clone()),
        Timeline::Source(source("actor:ada")),
        Timeline::Feed(user("bob")),
    ] {
        let mut followers = Vec::new();
        for _ in 0..50 {
            followers.push(follow(&scene.store, &timeline, None).await);
        }
        let (units, _) = idle(&scene.store, 300).await;
        assert!(units > 0.3 && units <= 1.0, "{timeline}: {units}");
        drop(followers);
        // The loop ends, and nothing is paid any more.
        assert_eq!(idle(&scene.store, 60).await.1, 0, "{timeline}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_follower_of_an_event_a_second_costs_at_most_seven_read_units_a_second() {
    let (_, store, posts) = posts().await;
    let mut follower = follow(&store, &Timeline::Topic(posts.clone()), None).await;
    let mut spent = 0.0;
    for _ in 0..100 {
        post(&store, &posts, vec![event("note", None)]).await;
        let Tally { .. } = store.take_tally();
        assert_eq!(told(&mut follower, SECOND).await.len(), 1);
        spent += units(store.take_tally().cost.read_units);
    }
    assert!(spent > 400.0 && spent <= 700.0, "{spent}");
}

#[tokio::test(start_paused = true)]
async fn fan_out_pays_for_followers_only_if_entries_are_late() {
    for (late, watched) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut scene = Scene::new(FeedSettings::default()).await;
        // A first event, so that the batch of the second has nothing new to learn.
        scene.write(vec![event("note", None)]).await;
        scene.settle().await;
        let mut followers = Vec::new();
        if watched {
            followers.push(follow(&scene.store, &Timeline::Source(source("actor:ada")), None).await);
        }
        let fan_out = store(scene.engine.client(), &scene.world);
        scene.write(vec![event("note", None)]).await;
        pass(Duration::from_millis(if late { 3_000 } else { 100 })).await;
        let news = scene.news();
        let cost = crate::scene::fan_out(&fan_out, &news).await.cost;
        // Two watches are read consistently: of the source, and of the author's own feed. A note is one write.
        let (reads, writes) = match (late, watched) {
            (false, _) => (0.0, 0),
            (true, false) => (2.0, 0),
            (true, true) => (2.0, 1),
        };
        // As for an event without followers: the event, the source's item and counts, the erasures, the announcements.
        let (read_units, write_units) = (units(cost.read_units), cost.write_units.halves / 2);
        assert_eq!((read_units - reads, write_units - writes), (5.0, 2), "{late} {watched}: {cost:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_waits_for_an_event_or_until_the_time_is_over() {
    let mut scene = Scene::followed().await;
    let newer = scene.store.op().topic(&scene.posts).latest(&query(1)).await.unwrap().newer;
    let waiting = EventQuery { cursor: newer, wait: 25.try_into().unwrap(), ..query(5) };
    let begun = scene.world.now();
    let op = scene.store.op();
    assert!(op.topic(&scene.posts).latest(&waiting).await.unwrap().events.is_empty());
    assert_eq!(scene.world.now().get() - begun.get(), 25_000);
    // Two looks a second at first, one at the end; each half a unit, and the directory once a second at most.
    assert!(units(op.cost().read_units) <= 40.0, "{}", op.cost().of_read());

    let posted = scene.write(vec![event("note", None)]).await;
    scene.settle().await;
    let begun = scene.world.now();
    let page = scene.store.op().topic(&scene.posts).latest(&waiting).await.unwrap();
    assert_eq!(ids(&page.events), posted);
    let waited = scene.world.now().get() - begun.get();
    assert!((2_000..3_100).contains(&waited), "{waited}");

    let ada = source("actor:ada");
    let first = |cursor| SourceQuery { page: EventQuery { cursor, ..query(5) }, ..SourceQuery::default() };
    let newer = scene.store.op().timeline(&ada).page(&first(None)).await.unwrap().newer;
    let mut waiting = first(newer);
    waiting.page.wait = 1.try_into().unwrap();
    let op = scene.store.op();
    assert!(op.timeline(&ada).page(&waiting).await.unwrap().events.is_empty() && op.shown() == 0);
    let first = |cursor| FeedQuery { page: EventQuery { cursor, ..query(1) }, ..FeedQuery::default() };
    let newer = scene.store.op().feed(&user("bob")).page(&first(None)).await.unwrap().page;
    scene.write(vec![event("note", None)]).await;
    scene.settle().await;
    let mut waiting = first(newer.newer);
    waiting.page.wait = 9.try_into().unwrap();
    let op = scene.store.op();
    assert_eq!(op.feed(&user("bob")).page(&waiting).await.unwrap().page.events.len(), 1);
    assert_eq!(op.shown(), 1);
}
