//! Work that grows with a feed is done in steps. Its memory does not grow with the events.

use std::process::Command;
use std::time::Duration;

use lately_model::NewEvent;
use lately_store::FeedSettings;

use crate::listed::{source, user};
use crate::scene::{Scene, fan_out, small_jobs, tell};
use crate::support::{DAY, event, pass};

/// Settings for steps of twenty entries.
fn short_steps() -> FeedSettings {
    FeedSettings { entries_per_query: 10, queries_per_step: 2, ..FeedSettings::default() }
}

fn by(actor: &str) -> NewEvent {
    NewEvent { actor: actor.parse().unwrap(), ..event("note", None) }
}

#[tokio::test(start_paused = true)]
async fn a_long_cleanup_takes_steps_that_keep_their_place() {
    let mut scene = Scene::new(short_steps()).await;
    scene.follow("bob", "actor:ada", 0).await;
    for _ in 0..5 {
        scene.write(vec![by("ada"), by("ada")]).await;
        scene.write((0..20).map(|_| by("bob")).collect()).await;
    }
    scene.settle().await;
    assert_eq!(scene.shown("bob").await.len(), 110);
    scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
    let steps = scene.settle().await;
    assert_eq!(scene.shown("bob").await.len(), 100);
    // The record looks at ten entries, and the steps at 110, twenty at a time.
    let looked_at: Vec<_> = steps.iter().map(|step| step.cost.items).filter(|items| *items > 0).collect();
    assert_eq!(looked_at.len(), 7, "{looked_at:?}");
    assert!(looked_at.iter().all(|items| *items <= 30), "{looked_at:?}");
}

#[tokio::test(start_paused = true)]
async fn many_unfollows_of_a_feed_walk_through_it_twice_at_most() {
    let mut scene = Scene::new(short_steps()).await;
    let sources: Vec<_> = (0..30).map(|n| format!("actor:a{n}")).collect();
    for source in &sources {
        scene.follow("bob", source, 0).await;
    }
    for n in 0..30 {
        scene.write(vec![by(&format!("a{n}"))]).await;
    }
    for _ in 0..5 {
        scene.write((0..20).map(|_| by("bob")).collect()).await;
    }
    scene.settle().await;
    assert_eq!(scene.shown("bob").await.len(), 130);
    // The first walk is under way when the others leave.
    for batch in [&sources[..1], &sources[1..]] {
        for left in batch {
            scene.store.op().user(&user("bob")).unfollow(&source(left)).await.unwrap();
        }
        for _ in 0..2 {
            let news = scene.news();
            assert_eq!(fan_out(&scene.store, &news).await.failed, None);
        }
    }
    let steps = scene.settle().await;
    assert_eq!(scene.shown("bob").await.len(), 100);
    // At most two walks of seven steps are left. Every other record finds that its step is done.
    let walked = steps.iter().filter(|step| step.cost.items >= 10).count();
    assert!(walked <= 14, "{walked}");
}

#[tokio::test(start_paused = true)]
async fn a_long_backfill_takes_steps_that_keep_their_place() {
    let mut scene = Scene::new(short_steps()).await;
    let posted = scene.write((0..90).map(|_| by("ada")).collect()).await;
    scene.settle().await;
    pass(Duration::from_millis(1)).await;
    scene.follow("bob", "actor:ada", 70).await;
    let steps = scene.settle().await;
    let mut newest = posted;
    newest.sort_by(|a, b| b.cmp(a));
    assert_eq!(scene.shown("bob").await, newest[..70]);
    let copied: Vec<_> = steps.iter().map(|step| step.deliveries).filter(|copied| *copied > 0).collect();
    assert_eq!(copied, [20, 20, 20, 10]);
}

#[tokio::test(start_paused = true)]
async fn a_page_of_a_job_is_expired_if_it_is_gone_after_two_days() {
    let mut scene = Scene::new(small_jobs()).await;
    scene.follow("bob", "actor:ada", 0).await;
    scene.settle().await;
    scene.write(vec![by("ada")]).await;
    let written = scene.news();
    tell(&scene.store, &written).await;
    let page = scene.news();
    for (time, expired) in [(Duration::ZERO, 0), (Duration::ZERO, 0), (2 * DAY + DAY / 24, 1)] {
        pass(time).await;
        let outcome = fan_out(&scene.store, &page).await;
        assert_eq!((outcome.failed, outcome.expired), (None, expired));
    }
}

/// The environment variable that makes the test measure its own memory, in a child process.
const MEASURE: &str = "LATELY_MEASURE_MEMORY";

#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::print_stdout, reason = "the child process reports its measurement to its parent")]
fn thirty_two_backfills_of_large_events_stay_under_256_mb() {
    if std::env::var_os(MEASURE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        println!("peak={}", runtime.unwrap().block_on(copy_large_events()));
        return;
    }
    // All tests of a process share its memory, so this test runs in a process of its own.
    let name = "fan_out_steps::thirty_two_backfills_of_large_events_stay_under_256_mb";
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", name, "--nocapture"]).env(MEASURE, "1").output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let peak =
        output.lines().find_map(|line| line.split_once("peak=")).expect("the child reports its peak").1;
    let peak: u64 = peak.parse().unwrap();
    assert!(peak < 256, "{peak} MB");
}

/// Copies 60 events of 256 KB into the feeds of 32 users at once. Returns the peak memory of the process, in MB.
async fn copy_large_events() -> u64 {
    let mut scene = Scene::new(FeedSettings::default()).await;
    let large = format!("\"{}\"", "x".repeat(255 * 1024));
    for _ in 0..6 {
        let events = (0..10).map(|_| event("note", Some(large.clone()))).collect();
        scene.write(events).await;
        scene.settle().await;
    }
    for n in 0..32 {
        scene.follow(&format!("user-{n}"), "actor:ada", 60).await;
    }
    let news = scene.news();
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let outcome = fan_out(&scene.store, &news).await;
    assert_eq!((outcome.failed, outcome.deliveries), (None, 32 * 60));
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes / 1024
}
