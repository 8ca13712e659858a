//! The arguments of the commands that create a token.

use lately_keys::{Topic, User};
use lately_model::limits::SESSION_TOPICS;
use lately_model::{NewSession, RateLimits, RequestsPerMinute, Scope, Scopes, TtlSeconds};

use crate::failure::{Failure, Result};
use crate::seconds;
use crate::values::one_of;

/// The scopes, the user, the topics and the lifetime of a new token.
#[derive(Clone, Debug, clap::Args)]
pub struct NewTokenArguments {
    /// A scope of the token; repeatable
    #[arg(long = "scope", required = true, value_name = "SCOPE", value_parser = one_of(&Scope::ALL, Scope::as_str))]
    scopes: Vec<Scope>,

    /// The token's user; a token without a user belongs to a service
    #[arg(long, value_name = "USER")]
    user: Option<User>,

    /// Limit the token to this topic; repeatable
    #[arg(long = "topic", value_name = "TOPIC")]
    topics: Vec<Topic>,

    /// The token's lifetime, such as 90s, 45m, 12h, 30d or 2w; at most 365d
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = parse_time)]
    ttl: TtlSeconds,

    /// The writes that the token may make in a minute, 1 to 100000; each event of a batch counts
    #[arg(long, value_name = "N")]
    writes_per_minute: Option<RequestsPerMinute>,

    /// The reads that the token may make in a minute, 1 to 100000
    #[arg(long, value_name = "N")]
    reads_per_minute: Option<RequestsPerMinute>,
}

impl NewTokenArguments {
    /// The session that the token opens.
    pub(crate) fn session(self) -> Result<NewSession> {
        let Self { scopes, user, topics, ttl: ttl_seconds, writes_per_minute, reads_per_minute } = self;
        if topics.len() > SESSION_TOPICS {
            let refused = format!("a token may be limited to at most {SESSION_TOPICS} topics");
            return Err(Failure::usage(refused));
        }
        let scopes = scopes.into_iter().collect::<Scopes>();
        let topics = (!topics.is_empty()).then_some(topics);
        let limits = RateLimits { writes_per_minute, reads_per_minute };
        Ok(NewSession { user, scopes, topics, ttl_seconds, limits })
    }
}

fn parse_time(text: &str) -> Result<TtlSeconds, String> {
    let ttl = seconds::parse(text).and_then(|seconds| TtlSeconds::new(seconds).ok());
    ttl.ok_or_else(|| "must be a number and s, m, h or d, from 1s to 365d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_a_number_and_a_unit() {
        for (text, seconds) in
            [("1s", 1), ("45m", 2700), ("12h", 43_200), ("2w", 1_209_600), ("365d", 31_536_000)]
        {
            assert_eq!(parse_time(text).map(TtlSeconds::get), Ok(seconds));
        }
        for text in ["", "d", "0s", "366d", "-1s", "1.5h", "30", "30 d", "99999999999d", "4294967295d", "1é"]
        {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
