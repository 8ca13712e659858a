//! `lately follow`, `unfollow`, `following` and `followers`: the follows of users.

use lately_client::Request;
use lately_keys::{Source, User};
use lately_model::limits::BACKFILL;
use serde::Deserialize;
use serde_json::json;

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::list::ListArguments;
use crate::client::session::{Screen, Session, read};

/// Make a user follow an actor or a subject
#[derive(Clone, Debug, clap::Args)]
pub struct FollowOptions {
    /// The user
    user: User,

    /// The actor or subject to follow: actor:NAME or subject:NAME
    source: Source,

    /// The number of its latest events to add to the feed: 0 to 200 [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=i64::from(BACKFILL)))]
    backfill: Option<u16>,

    #[command(flatten)]
    access: Access,
}

/// Make a user unfollow an actor or a subject
#[derive(Clone, Debug, clap::Args)]
pub struct UnfollowOptions {
    /// The user
    user: User,

    /// The actor or subject to unfollow: actor:NAME or subject:NAME
    source: Source,

    #[command(flatten)]
    access: Access,
}

/// List the actors and subjects that a user follows
#[derive(Clone, Debug, clap::Args)]
pub struct FollowingOptions {
    /// The user
    user: User,

    #[command(flatten)]
    list: ListArguments,

    #[command(flatten)]
    access: Access,
}

/// List the followers of an actor or a subject
#[derive(Clone, Debug, clap::Args)]
pub struct FollowersOptions {
    /// The followed actor or subject: actor:NAME or subject:NAME
    source: Source,

    #[command(flatten)]
    list: ListArguments,

    #[command(flatten)]
    access: Access,
}

/// A list of the sources that a user follows, or of a source's followers.
#[derive(Debug, Deserialize)]
struct FollowList {
    #[serde(alias = "following", alias = "followers")]
    members: Vec<FollowMember>,
    next: Option<String>,
}

#[derive(Debug, Deserialize)]
struct FollowMember {
    #[serde(alias = "source", alias = "user")]
    name: String,
    since: String,
}

pub(super) async fn follow(options: FollowOptions, screen: Screen<'_>) -> Result<(), Failure> {
    let FollowOptions { user, source, backfill, access } = options;
    let mut session = Session::open(access, screen)?;
    let call = Request::put(format!("/users/{user}/following/{source}"));
    let call = match backfill {
        Some(backfill) => call.json(&json!({ "backfill": backfill })),
        None => call,
    };
    let reply = session.ask(&call).await?;
    if !session.prints_json(&reply)? {
        let FollowMember { name, since } = read(&reply)?;
        session.pairs(&[("following", name), ("since", since)])?;
    }
    Ok(())
}

pub(super) async fn unfollow(options: UnfollowOptions, screen: Screen<'_>) -> Result<(), Failure> {
    let UnfollowOptions { user, source, access } = options;
    let mut session = Session::open(access, screen)?;
    session.ask(&Request::delete(format!("/users/{user}/following/{source}"))).await?;
    Ok(session.tell(format_args!("{user} does not follow {source}"))?)
}

pub(super) async fn following(options: FollowingOptions, screen: Screen<'_>) -> Result<(), Failure> {
    let FollowingOptions { user, list, access } = options;
    print(&format!("/users/{user}/following"), "source", list, Session::open(access, screen)?).await
}

pub(super) async fn followers(options: FollowersOptions, screen: Screen<'_>) -> Result<(), Failure> {
    let FollowersOptions { source, list, access } = options;
    print(&format!("/sources/{source}/followers"), "user", list, Session::open(access, screen)?).await
}

async fn print(
    path: &str,
    title: &'static str,
    list: ListArguments,
    mut session: Session<'_>,
) -> Result<(), Failure> {
    let reply = session.ask(&Request::get(path).query(&list.query())).await?;
    if !session.prints_json(&reply)? {
        let FollowList { members, next } = read(&reply)?;
        let rows: Vec<_> =
            members.into_iter().map(|FollowMember { name, since }| vec![name, since]).collect();
        let mut table = session.table(&[title, "since"]);
        session.rows(&mut table, &rows)?;
        session.tell_next(next.as_deref())?;
    }
    Ok(())
}
