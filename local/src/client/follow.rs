//! `lately follow`, `unfollow`, `following` and `followers`: the follows of users.

use lately_client::Request;
use lately_keys::{Source, User};
use lately_model::limits::BACKFILL;
use lately_model::{FollowView, FollowerList, FollowerView, FollowingList};
use serde_json::json;

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::list::ListArguments;
use crate::client::session::{Session, Terminal};

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

pub(super) async fn follow(options: FollowOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let FollowOptions { user, source, backfill, access } = options;
    let mut session = Session::open(access, terminal)?;
    let call = Request::put(format!("/users/{user}/following/{source}"));
    let call = match backfill {
        Some(backfill) => call.json(&json!({ "backfill": backfill })),
        None => call,
    };
    let print = |session: &mut Session<'_>, FollowView { source, since }| {
        session.pairs(&[("following", source.to_string()), ("since", since.to_string())])
    };
    session.ask_and_show(&call, print).await
}

pub(super) async fn unfollow(options: UnfollowOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let UnfollowOptions { user, source, access } = options;
    let mut session = Session::open(access, terminal)?;
    session.ask(&Request::delete(format!("/users/{user}/following/{source}"))).await?;
    session.log(format_args!("{user} unfollowed {source}"))
}

pub(super) async fn following(options: FollowingOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let FollowingOptions { user, list, access } = options;
    let call = Request::get(format!("/users/{user}/following")).query(&list.query());
    let print = |session: &mut Session<'_>, FollowingList { following, next }| {
        let row = |FollowView { source, since }| vec![source.to_string(), since.to_string()];
        session.list(&["source", "since"], following.into_iter().map(row), next)
    };
    Session::open(access, terminal)?.ask_and_show(&call, print).await
}

pub(super) async fn followers(options: FollowersOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let FollowersOptions { source, list, access } = options;
    let call = Request::get(format!("/sources/{source}/followers")).query(&list.query());
    let print = |session: &mut Session<'_>, FollowerList { followers, next }| {
        let row = |FollowerView { user, since }| vec![user.to_string(), since.to_string()];
        session.list(&["user", "since"], followers.into_iter().map(row), next)
    };
    Session::open(access, terminal)?.ask_and_show(&call, print).await
}
