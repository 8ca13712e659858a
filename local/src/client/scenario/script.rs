//! The scenario itself, one step after the other.

use clap::ValueEnum;
use lately_keys::{Topic, UnixMillis};
use lately_kit::clock;
use lately_kit::token::Token;
use serde_json::{Value, json};

use crate::client::scenario::Part;
use crate::client::scenario::call::{Answer, Caller, Failure, World};
use crate::client::scenario::stage::{Act, Ended, Stage};

/// How long the sessions are good for, in seconds: longer than any run.
const SESSION_SECONDS: u32 = 3_600;

/// How far back an import is, in milliseconds.
const HOUR_MILLIS: u64 = 60 * 60 * 1000;

/// Most pages that a walk follows: topics stay, so that runs add to their list.
const PAGES: usize = 1_000;

/// Most batches that a consumer is given of what a run has posted.
const BATCHES: usize = 100;

/// Who takes part, and the topic that they talk in.
struct Cast<'a> {
    run: String,
    topic: String,
    admin: Caller<'a>,
    ada: Caller<'a>,
    bob: Caller<'a>,
    nobody: Caller<'a>,
    stranger: Caller<'a>,
}

/// All acts. Without its users and its topic nothing else can be tried.
pub(super) async fn play(
    stage: &mut Stage<'_>,
    world: &World,
    token: &Token,
    reported: Option<&Topic>,
    skip: &[Part],
) -> Act {
    let run = format!("{:08x}", fastrand::u32(..));
    let admin = world.caller("admin", Some(token.clone()));
    let [ada, bob] = sessions(stage, world, &admin, &run).await?;
    let nobody = world.caller("nobody", None);
    let stranger = world.caller("stranger", Some(Token::of("nobody's")));
    let topic = format!("scenario-{run}");
    let cast = &Cast { run, topic, admin, ada, bob, nobody, stranger };
    topics(stage, world, cast).await?;
    for part in Part::value_variants() {
        if skip.contains(part) {
            let name = part.to_possible_value().expect("each part has a name");
            stage.tell(format_args!("skip {}", name.get_name()))?;
            continue;
        }
        let act = match part {
            Part::Health => health(stage, cast).await,
            Part::Openapi => openapi(stage, cast).await,
            Part::Events => Box::pin(events(stage, world, cast)).await,
            Part::Refusals => Box::pin(refusals(stage, cast)).await,
            Part::Feeds => Box::pin(feeds(stage, world, cast)).await,
            Part::Records => Box::pin(records(stage, cast)).await,
            Part::Issues => Box::pin(issues(stage, world, cast)).await,
            Part::Consumers => Box::pin(consumers(stage, world, cast)).await,
        };
        go_on(act)?;
    }
    match reported {
        Some(topic) => report(stage, world, cast, topic).await,
        None => Ok(()),
    }
}

/// Goes on with the next act after one that failed, which was told of and counted.
pub(super) fn go_on(act: Act) -> std::io::Result<()> {
    match act {
        Ok(()) | Err(Ended::Failed) => Ok(()),
        Err(Ended::Io(error)) => Err(error),
    }
}

async fn sessions<'a>(
    stage: &mut Stage<'_>,
    world: &'a World,
    admin: &Caller<'a>,
    run: &str,
) -> Result<[Caller<'a>; 2], Ended> {
    let minted = async |user: &str| {
        let user = format!("{user}-{run}");
        let session = json!({"user": user, "scopes": ["read", "write"], "ttl_seconds": SESSION_SECONDS});
        let session = admin.post("/sessions").json(&session).gives(201).await?;
        world.leaves(format!("/sessions/{}", session.text("/id")?));
        Ok::<_, Failure>(world.caller(user, Some(Token::of(&session.text("/token")?))))
    };
    let users = async { Ok([minted("ada").await?, minted("bob").await?]) };
    let users = stage.step("sessions are opened for two users", users).await?;
    let revoked = async {
        let session = json!({"scopes": ["read"], "ttl_seconds": 60});
        let id = admin.post("/sessions").json(&session).gives(201).await?.text("/id")?;
        let path = format!("/sessions/{id}");
        let shown = admin.get(&path).until("the session", |answer| answer.status() == 200).await?;
        shown.shows("/id", id)?.shows("/token", Value::Null)?;
        admin.delete(&path).gives(204).await?;
        admin.get(&path).until("404", |answer| answer.is(404, "not-found")).await
    };
    stage.step("a session is shown without its token, and revoked", revoked).await?;
    Ok(users)
}

async fn topics(stage: &mut Stage<'_>, world: &World, cast: &Cast<'_>) -> Act {
    let Cast { topic, admin, ada, .. } = cast;
    let path = format!("/topics/{topic}");
    let made = async {
        let settings = json!({"bucket": "hour", "views": ["actor", "subject", "type"]});
        admin.put(&path).json(&settings).gives(201).await?.shows("/topic", &**topic)?;
        ada.get(&path).until("the topic", |answer| answer.at("/bucket") == "hour").await?;
        let changed = admin.put(&path).json(&json!({"max_shards": 32})).gives(200).await?;
        changed.shows("/max_shards", 32)?.shows("/views", json!(["actor", "subject", "type"]))?;
        admin.put(&path).json(&json!({"bucket": "day"})).refused(409, "bucket-is-fixed").await
    };
    stage.step("a topic is made, read and changed", made).await?;
    let listed = async {
        let target = "/topics?limit=100";
        // The list is an index's, written behind.
        let attempt = async || {
            let mut listed = false;
            let show = |page: &Answer| listed |= page.list("/topics", "topic").contains(topic);
            walk(ada, target, show).await?.holds(listed, format_args!("after all pages: one with {topic}"))
        };
        world.wait(attempt).await
    };
    stage.step("it is in the list of topics", listed).await?;
    Ok(())
}

async fn health(stage: &mut Stage<'_>, cast: &Cast<'_>) -> Act {
    let ask = async { cast.nobody.get("/health").gives(200).await?.shows("/status", "ok") };
    stage.step("it is healthy, for anyone who asks", ask).await?;
    Ok(())
}

async fn openapi(stage: &mut Stage<'_>, cast: &Cast<'_>) -> Act {
    let ask = async {
        let document = cast.nobody.get("/openapi.json").gives(200).await?;
        let is_so = document.at("/paths/~1topics~1{topic}~1events/post").is_object();
        document.holds(is_so, "a document of the routes")
    };
    stage.step("it documents its routes, for anyone who asks", ask).await?;
    Ok(())
}

async fn events(stage: &mut Stage<'_>, world: &World, cast: &Cast<'_>) -> Act {
    let Cast { run, topic, admin, ada, bob, .. } = cast;
    let path = format!("/topics/{topic}/events");
    let subject = format!("repo:octo-{run}:hello");
    let made = |kind: &str, number: u32| json!({"type": kind, "actor": ada.name, "subject": subject, "data": {"number": number}});
    let leave = |answer: &Answer| {
        let one = answer.at("/id").as_str().map(str::to_owned);
        let ids: Vec<_> = one.into_iter().chain(answer.ids()).collect();
        ids.iter().for_each(|id| world.leaves(format!("{path}/{id}")));
        ids
    };

    let one = async {
        let posted = ada.post(&path).json(&made("post.created", 1)).gives(201).await?;
        let ids = leave(&posted);
        let at = format!("{path}/{}", ids.concat());
        let is_so = posted.header("location")? == at;
        posted.shows("/actor", &*ada.name)?.holds(is_so, format_args!("one at {at}"))?;
        let shown = ada.get(&at).until("the event", |answer| answer.status() == 200).await?;
        shown.shows("/data/number", 1)?.shows("/subject", &*subject)?;
        Ok(ids)
    };
    let mut posted = stage.step("an event is written, and read by its id", one).await?;

    let batches = async {
        let batch = Value::from((2..5).map(|number| made("post.created", number)).collect::<Vec<_>>());
        let array = ada.post(&path).json(&batch).gives(201).await?;
        let mut ids = leave(&array);
        array.shows("/accepted", 3)?;
        let lines = format!("{}\n{}\n", made("post.edited", 5), made("post.edited", 6));
        let lines = ada.post(&path).text("application/x-ndjson", lines).gives(201).await?;
        ids.extend(leave(&lines));
        lines.shows("/accepted", 2)?;
        Ok(ids)
    };
    posted.extend(stage.step("batches are written: an array, and lines", batches).await?);

    let repeated = async {
        let key = format!("scenario-{run}");
        let post =
            |number| ada.post(&path).json(&made("post.created", number)).header("idempotency-key", &key);
        let first = post(7).gives(201).await?;
        let ids = leave(&first);
        let again = post(7).gives(200).await?;
        let replayed = again.header("idempotent-replayed")? == "true";
        again.shows("/id", ids.concat())?.holds(replayed, "one that was given before")?;
        post(8).refused(422, "idempotency-key-reused").await?;
        Ok(ids)
    };
    posted.extend(stage.step("a post is repeated under its key, and is there once", repeated).await?);

    let hour_ago = now().saturating_sub(HOUR_MILLIS);
    let imported = async {
        let mut event = made("post.created", 0);
        event["at"] = json!(hour_ago.to_string());
        ada.post(&path).json(&event).refused(403, "forbidden").await?;
        let imported = admin.post(&path).json(&event).gives(201).await?;
        Ok(leave(&imported))
    };
    let import = stage.step("an import is written, by who may", imported).await?;
    posted.extend(import.clone());
    // Ids sort by time, as text too.
    posted.sort();
    let newest: Vec<_> = posted.iter().rev().cloned().collect();

    let latest = async {
        let mut ids = Vec::new();
        walk(bob, &format!("{path}?limit=3&consistent=true"), |page| ids.extend(page.ids()))
            .await?
            .holds(ids == newest, format_args!("after all pages: {newest:?}"))
    };
    stage.step("the latest are there, newest first, page by page", latest).await?;

    let oldest = async {
        let page = bob.get(format_args!("{path}?order=asc"));
        let page = page.until("all events, oldest first", |page| page.ids() == posted).await?;
        page.shows("/has_more", false)
    };
    stage.step("and oldest first, when they have settled", oldest).await?;

    let newer = async {
        let cursor =
            bob.get(format_args!("{path}?limit=1&consistent=true")).gives(200).await?.text("/newer")?;
        let new = leave(&ada.post(&path).json(&made("note.added", 9)).gives(201).await?);
        let page = bob.get(format_args!("{path}?cursor={cursor}"));
        page.until("the new event alone", |page| page.ids() == new).await?;
        Ok(new)
    };
    let note = stage.step("who keeps a cursor is told of what is newer", newer).await?;

    let narrowed = async {
        let page = bob.get(format_args!("{path}?type=note.added"));
        page.until("the one event of that type", |page| page.ids() == note).await?;
        let end = hour_ago.saturating_add(1_000);
        let page = bob.get(format_args!("{path}?consistent=true&to={end}"));
        page.gives(200).await?.lists(&import)
    };
    stage.step("a page is of one type, or of a time", narrowed).await?;

    let all: Vec<_> = note.into_iter().chain(newest).collect();
    let sources = async {
        for source in [format!("/actors/{}", ada.name), format!("/subjects/{subject}")] {
            let page = bob.get(format_args!("{source}/events?topic={topic}&limit=200"));
            page.until("all that it did, or that was done to it", |page| page.ids() == all).await?;
        }
        Ok(())
    };
    stage.step("the timelines of their actor and their subject have them", sources).await?;
    Ok(())
}

async fn refusals(stage: &mut Stage<'_>, cast: &Cast<'_>) -> Act {
    let Cast { run, topic, ada, bob, nobody, stranger, .. } = cast;
    let path = format!("/topics/{topic}/events");
    // These a gateway may answer itself, in words of its own.
    let outside = async {
        nobody.get(&path).gives(401).await?;
        stranger.get(&path).gives(403).await?;
        ada.get("/nowhere").gives(404).await
    };
    stage.step("without a good token, or to nowhere, there is no way", outside).await?;
    let forbidden = async {
        let event = json!({"type": "post.created", "actor": ada.name});
        bob.post(&path).json(&event).refused(403, "forbidden").await?;
        bob.get(format_args!("/feeds/{}", ada.name)).refused(403, "forbidden").await?;
        ada.put(format_args!("/topics/{topic}")).json(&json!({})).refused(403, "forbidden").await
    };
    stage.step("nobody acts as another, or beyond their scopes", forbidden).await?;
    let wrong = async {
        let events = json!([{"type": "a", "actor": ada.name}, {"type": "No", "actor": "#", "more": 1}]);
        let refused = ada.post(&path).json(&events).refused(422, "invalid-event").await?;
        let faults = refused.list("/errors", "path");
        let named = ["/1/type", "/1/actor", "/1/more"].iter().all(|path| faults.iter().any(|it| it == path));
        refused.holds(named, "one that names each fault")?;
        ada.post(&path).text("application/json", "{").refused(400, "malformed-json").await?;
        ada.get(format_args!("{path}?limit=0")).refused(400, "invalid-query").await?;
        ada.get(format_args!("{path}?cursor=never")).refused(400, "invalid-cursor").await?;
        ada.get(format_args!("{path}/42")).refused(400, "invalid-id").await?;
        ada.get("/sources/of-nothing").refused(400, "invalid-name").await
    };
    stage.step("what is wrong is refused, each fault by its place", wrong).await?;
    let absent = async {
        let id = "01900000-0000-7000-8000-000000000000";
        ada.get(format_args!("{path}/{id}")).refused(404, "event-not-found").await?;
        ada.get(format_args!("/topics/none-{run}/events")).refused(404, "topic-not-found").await
    };
    stage.step("what is not there is said not to be", absent).await?;
    Ok(())
}

async fn feeds(stage: &mut Stage<'_>, world: &World, cast: &Cast<'_>) -> Act {
    let Cast { topic, ada, bob, .. } = cast;
    let (source, feed) = (format!("actor:{}", ada.name), format!("/feeds/{}", bob.name));
    let following = format!("/users/{}/following", bob.name);
    let timeline = format!("/actors/{}/events", ada.name);
    let events = format!("/topics/{topic}/events");
    let post = async |words: &str| {
        let event = json!({"type": "post.created", "actor": ada.name, "data": {"words": words}});
        let id = ada.post(&events).json(&event).gives(201).await?.text("/id")?;
        world.leaves(format!("{events}/{id}"));
        Ok::<_, Failure>(id)
    };
    let leave = format!("{following}/{source}");

    let follow = async {
        let before = post("before").await?;
        let page = bob.get(&timeline);
        page.until("the post of before", |page| page.ids().contains(&before)).await?;
        let followed = bob.put(&leave).json(&json!({"backfill": 1})).gives(201).await?;
        world.leaves(&leave);
        followed.shows("/source", &*source)?;
        bob.put(&leave).json(&json!({})).gives(200).await?;
        bob.get(&feed).until("the post of before", |page| page.ids().contains(&before)).await
    };
    stage.step("who follows gets what was posted last", follow).await?;

    let posted = async {
        let id = post("after").await?;
        let waited = bob.get(format_args!("{feed}?wait_for={id}"));
        let page = waited.until("the post", |page| page.ids().first() == Some(&id)).await?;
        page.shows("/events/0/data/words", "after")?;
        let own = ada.get(format_args!("/feeds/{}", ada.name));
        own.until("the author's own post", |page| page.ids().contains(&id)).await?;
        Ok(id)
    };
    let id = stage.step("a post shows in its followers' feeds, and in its author's", posted).await?;

    let seen = async {
        let unread = bob.get(format_args!("{feed}/unread"));
        unread.until("what is unread", |answer| answer.at("/unread").as_u64() > Some(0)).await?;
        bob.put(format_args!("{feed}/seen")).json(&json!({"id": id})).gives(204).await?;
        let unread = bob.get(format_args!("{feed}/unread"));
        unread.until("that nothing is unread", |answer| answer.at("/unread") == 0).await
    };
    stage.step("what is unread is counted, until it is seen", seen).await?;

    let lists = async {
        let list = bob.get(&following);
        list.until("the source", |list| list.list("/following", "source") == [&*source]).await?;
        let list = ada.get(format_args!("/sources/{source}/followers"));
        list.until("the follower", |list| list.list("/followers", "user") == [&*bob.name]).await?;
        let view = ada.get(format_args!("/sources/{source}"));
        view.until("one follower", |view| view.at("/followers") == 1 && view.at("/mode") == "push").await
    };
    stage.step("who follows whom is listed, from both sides", lists).await?;

    let deleted = async {
        ada.delete(format_args!("{events}/{id}")).gives(204).await?;
        let event = bob.get(format_args!("{events}/{id}"));
        event.until("404", |answer| answer.is(404, "event-not-found")).await?;
        for target in [&timeline, &feed] {
            let page = bob.get(target);
            page.until("a page without it", |page| page.status() == 200 && !page.ids().contains(&id)).await?;
        }
        Ok(())
    };
    stage.step("an event that is deleted leaves topic, timeline and feed", deleted).await?;

    let unfollowed = async {
        bob.delete(&leave).gives(204).await?;
        let list = bob.get(&following);
        list.until("no source", |list| list.at("/following") == &json!([])).await?;
        bob.get(&feed).until("an empty feed", |page| page.at("/events") == &json!([])).await
    };
    stage.step("who unfollows is rid of it", unfollowed).await?;
    Ok(())
}

async fn records(stage: &mut Stage<'_>, cast: &Cast<'_>) -> Act {
    let Cast { run, admin, ada, .. } = cast;
    let records = [
        ("a profile", format!("/users/{}/profile", ada.name), ada),
        ("settings", format!("/settings/scenario-{run}"), admin),
    ];
    for (what, path, owner) in records {
        let kept = async {
            let (first, second) = (json!({"name": "first"}), json!({"name": "second"}));
            let made = owner.put(&path).header("if-none-match", "*").json(&first).gives(201).await?;
            let old = made.header("etag")?;
            let shown = ada.get(format_args!("{path}?consistent=true")).gives(200).await?;
            let is_so = shown.header("etag")? == old;
            shown.shows("", first)?.holds(is_so, format_args!("one of the revision {old}"))?;
            owner.put(&path).json(&second).refused(428, "revision-required").await?;
            let replaced = owner.put(&path).header("if-match", &old).json(&second).gives(200).await?;
            let tag = replaced.header("etag")?;
            let stale = owner.put(&path).header("if-match", &old).json(&second);
            let stale = stale.refused(412, "revision-mismatch").await?;
            let is_so = stale.header("etag")? == tag;
            stale.holds(is_so, format_args!("one that tells of the revision {tag}"))?;
            owner.delete(&path).header("if-match", &tag).gives(204).await?;
            ada.get(format_args!("{path}?consistent=true")).refused(404, "not-found").await
        };
        stage.step(&format!("{what}: made, read, replaced by its revision, deleted"), kept).await?;
    }
    Ok(())
}

async fn issues(stage: &mut Stage<'_>, world: &World, cast: &Cast<'_>) -> Act {
    let Cast { run, ada, bob, .. } = cast;
    let path = format!("/repos/octo-{run}/world/issues");
    let subject = format!("repo:octo-{run}:world");
    let following = format!("/users/{}/following/subject:{subject}", bob.name);
    let numbers = |list: &Answer| list.list("/issues", "number");

    let opened = async {
        bob.put(&following).json(&json!({})).gives(201).await?;
        world.leaves(&following);
        let issue = json!({"title": "It runs backwards", "body": "Since yesterday.", "labels": ["critical"]});
        let opened = ada.post(&path).json(&issue).gives(201).await?;
        let tag = opened.header("etag")?;
        opened.shows("/number", 1)?.shows("/status", "open")?.shows("/priority", "high")?;
        let issue = json!({"title": "It could run faster", "labels": ["enhancement"]});
        ada.post(&path).json(&issue).gives(201).await?.shows("/number", 2)?.shows("/priority", "low")?;
        bob.get(format_args!("{path}/1?consistent=true"))
            .gives(200)
            .await?
            .shows("/opened_by", &*ada.name)?;
        Ok(tag)
    };
    let tag = stage.step("issues are opened under numbers, and read", opened).await?;

    let listed = async {
        let all = bob.get(format_args!("{path}?order=asc"));
        all.until("both issues", |list| numbers(list) == ["1", "2"]).await?;
        for (query, number) in [("from=2&to=2", "2"), ("priority=high", "1"), ("priority=low", "2")] {
            let list = bob.get(format_args!("{path}?{query}"));
            list.until("the issue", |list| numbers(list) == [number]).await?;
        }
        let open = bob.get(format_args!("{path}?status=open"));
        open.until("both issues", |list| numbers(list) == ["2", "1"]).await
    };
    stage.step("they are listed by number, priority and status", listed).await?;

    let closed = async {
        let first = format!("{path}/1");
        let close = json!({"status": "closed"});
        ada.patch(&first).json(&close).refused(428, "revision-required").await?;
        let changed = ada.patch(&first).header("if-match", &tag).json(&close).gives(200).await?;
        let revision = changed.at("/revision").to_string();
        changed.shows("/status", "closed")?;
        ada.patch(&first).header("if-match", &tag).json(&close).refused(412, "revision-mismatch").await?;
        let list = bob.get(format_args!("{path}?status=closed&wait_for=1@{revision}"));
        list.until("the closed issue", |list| numbers(list) == ["1"]).await
    };
    stage.step("one is closed by its revision, and listed so", closed).await?;

    let told = async {
        let page = bob.get(format_args!("/subjects/{subject}/events?topic=issues"));
        let told = ["issue.closed", "issue.opened", "issue.opened"];
        let page = page.until("what was done to them", |page| page.list("/events", "type") == told).await?;
        let ids = page.ids();
        ids.iter().for_each(|id| world.leaves(format!("/topics/issues/events/{id}")));
        let latest = format_args!("/topics/issues/events/{}", ids[0]).to_string();
        let event = bob.get(latest).until("the event", |answer| answer.status() == 200).await?;
        event.shows("/data/number", 1)?.shows("/actor", &*ada.name)?;
        let feed = bob.get(format_args!("/feeds/{}", bob.name));
        feed.until("the same in a follower's feed", |page| ids.iter().all(|id| page.ids().contains(id))).await
    };
    stage.step("each change is told of in the topic issues, and in feeds", told).await?;
    Ok(())
}

async fn consumers(stage: &mut Stage<'_>, world: &World, cast: &Cast<'_>) -> Act {
    let Cast { topic, admin, .. } = cast;
    let (events, path) = (format!("/topics/{topic}/events"), format!("/topics/{topic}/consumers/scenario"));
    let poll = async |limit: u16| {
        let poll = admin.post(format_args!("{path}/poll")).json(&json!({"limit": limit}));
        poll.until("a batch", |answer| answer.at("/batch").is_string()).await
    };
    let commit = |batch: &str| admin.post(format_args!("{path}/commit")).json(&json!({"batch": batch}));
    let posted = async |event: Value| {
        let id = admin.post(&events).json(&event).gives(201).await?.text("/id")?;
        world.leaves(format!("{events}/{id}"));
        Ok::<_, Failure>(id)
    };

    let made = async {
        for _ in 0..3 {
            posted(json!({"type": "note.added", "actor": "scenario"})).await?;
        }
        let start = json!({"start": "earliest", "settle_seconds": 0});
        admin.put(&path).json(&start).gives(201).await?.shows("/position", Value::Null)?;
        world.leaves(&path);
        admin.put(&path).json(&start).gives(200).await?.shows("/settle_seconds", 0)
    };
    stage.step("a consumer is made", made).await?;

    let given = async {
        let mut all = Vec::new();
        let target = format!("{events}?consistent=true");
        walk(admin, &target, |page| all.extend(page.ids())).await?;
        all.reverse();
        let (mut given, mut batches) = (Vec::new(), Vec::new());
        while given.len() < all.len() && batches.len() < BATCHES {
            let polled = poll(2).await?;
            given.extend(polled.ids());
            let again = poll(2).await?.lists(&polled.ids())?;
            batches.push(polled.text("/batch")?);
            again.shows("/batch", &**batches.last().expect("it was pushed"))?;
            commit(batches.last().expect("it was pushed")).gives(204).await?;
        }
        if let Some(last) = batches.last() {
            commit(last).gives(204).await?;
        }
        if let [stale, _, ..] = &batches[..] {
            commit(stale).refused(409, "stale-batch").await?;
        }
        let status = admin.get(&path).until("its place", |answer| answer.status() == 200).await?;
        let is_so = given == all;
        status
            .shows("/outstanding", Value::Null)?
            .holds(is_so, format_args!("after all batches: {all:?}"))?;
        Ok(all)
    };
    let all =
        stage.step("it is given all events, oldest first, each batch until it is committed", given).await?;

    let late = async {
        let at = now().saturating_sub(2 * HOUR_MILLIS).to_string();
        let late = posted(json!({"type": "note.added", "actor": "scenario", "at": at})).await?;
        for _ in 0..BATCHES {
            let polled = poll(100).await?;
            commit(&polled.text("/batch")?).gives(204).await?;
            if polled.list("/late", "id").contains(&late) {
                return Ok(late);
            }
        }
        Err(poll(1).await?.never("the late event"))
    };
    let late = stage.step("and what lands behind its place, as late", late).await?;

    let sought = async {
        admin.post(format_args!("{path}/seek")).json(&json!({"to": "earliest"})).gives(200).await?;
        let first = poll(1).await?.lists(&[late])?;
        commit(&first.text("/batch")?).gives(204).await?;
        admin.post(format_args!("{path}/seek")).json(&json!({"to": all[0]})).gives(200).await?;
        poll(1).await?.lists(&all[1..2])?;
        let runs = admin.get(format_args!("{path}/runs"));
        runs.until("no runs", |answer| answer.at("/runs") == &json!([])).await?;
        admin.delete(&path).gives(204).await?;
        admin.get(&path).until("404", |answer| answer.is(404, "not-found")).await
    };
    stage.step("it is sent elsewhere, and deleted", sought).await?;
    Ok(())
}

async fn report(stage: &mut Stage<'_>, world: &World, cast: &Cast<'_>, topic: &Topic) -> Act {
    let Cast { run, admin, .. } = cast;
    let reported = async {
        // Where nobody has posted to it yet, it is not there.
        let made = admin.put(format_args!("/topics/{topic}")).json(&json!({}));
        made.until("the topic", |answer| answer.status() < 300).await?;
        let events = format!("/topics/{topic}/events");
        let event = |number: u32| json!({"type": "invoice.paid", "actor": format!("scenario-{run}"), "data": {"amount": number}});
        let batch = Value::from((1..4).map(event).collect::<Vec<_>>());
        let ids = admin.post(&events).json(&batch).gives(201).await?.ids();
        ids.iter().for_each(|id| world.leaves(format!("{events}/{id}")));
        let runs = admin.get(format_args!("/topics/{topic}/consumers/report/runs"));
        runs.until("a committed run that counts what was posted", |runs| counts(runs, &ids)).await
    };
    stage.step("what is new is reported on a schedule", reported).await?;
    Ok(())
}

/// Whether each of these events is in the range of a committed run that counts at least as many.
fn counts(runs: &Answer, ids: &[String]) -> bool {
    let runs = runs.at("/runs").as_array().map(Vec::as_slice).unwrap_or_default();
    let covers = |run: &Value, id: &str| {
        let [from, to] = ["from", "to"].map(|end| run[end].as_str().unwrap_or_default());
        run["committed_at"].is_string() && from < id && id <= to
    };
    let counts = |run: &Value| {
        let covered = ids.iter().filter(|id| covers(run, id)).count();
        run["events"].as_u64() >= u64::try_from(covered).ok()
    };
    ids.iter().all(|id| runs.iter().any(|run| covers(run, id) && counts(run)))
}

/// Deletes what was made, as far as it can be.
pub(super) async fn clean_up(stage: &mut Stage<'_>, world: &World, token: &Token) -> Act {
    let admin = world.caller("admin", Some(token.clone()));
    let cleaned = async {
        let mut done = Ok(());
        for path in world.left() {
            let deleted = admin.delete(path).gives(204).await;
            done = done.and(deleted.map(drop));
        }
        done
    };
    stage.step("what was made is deleted", cleaned).await
}

/// Follows pages to the end, shows each, and answers the last.
async fn walk(caller: &Caller<'_>, target: &str, mut show: impl FnMut(&Answer)) -> Result<Answer, Failure> {
    let mut page = caller.get(target).gives(200).await?;
    show(&page);
    for _ in 0..PAGES {
        let Some(next) = page.at("/next").as_str() else { return Ok(page) };
        page = caller.get(format_args!("{target}&cursor={next}")).gives(200).await?;
        show(&page);
    }
    Err(page.never("the last page"))
}

fn now() -> UnixMillis {
    let millis = u64::try_from(clock::unix_now().as_millis()).unwrap_or(u64::MAX);
    UnixMillis::new(millis).unwrap_or(UnixMillis::MAX)
}
