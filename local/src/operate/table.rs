//! The table that an operator's command works on: the local program's, or a stack's.
//!
//! Only `--table` (or `LATELY_TABLE`) names a stack's table. Without it a command uses the local program's table and
//! reads no AWS setting, so no command works on AWS by accident. If the environment names a stack in another way, the
//! command asks the user to choose.

use std::num::NonZeroU32;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::{Credentials, Region, SharedCredentialsProvider};
use lately_kit::aws::{self, Environment};
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::settings::{Settings, is_table_name};
use lately_kit::trust::TrustRoots;
use lately_kit::world::World;
use lately_store::Store;
use lately_table::Connection;
use reqwest::Url;
use tokio::net::TcpStream;

use crate::client::access::{is_here, parse_url};
use crate::failure::{Failure, Result};
use crate::serve::system::TABLE;

/// The local program's DynamoDB port.
const LOCAL_URL: &str = "http://127.0.0.1:8000";

/// Items per second that are read of the local program's table, which no other machine uses.
const LOCAL_RATE: NonZeroU32 = NonZeroU32::new(10_000).expect("not zero");

/// Items per second that are read of a stack's table: some 130 read units, so a table on demand stays far from its limits.
pub(crate) const READ_RATE: NonZeroU32 = NonZeroU32::new(1_000).expect("not zero");

/// The arguments that name Lately's table.
#[derive(Clone, Debug, clap::Args)]
pub struct TableArguments {
    /// A stack's table, its output TableName, with your AWS credentials [default: the local program's table]
    #[arg(long = "table", env = "LATELY_TABLE", value_name = "NAME", value_parser = parse_table)]
    table: Option<String>,

    /// The local program's table, whatever the environment says; its DynamoDB is at this URL
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true, default_missing_value = LOCAL_URL, value_parser = parse_url)]
    local: Option<Url>,
}

/// The table that a command works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TableTarget {
    /// The local program, by the URL of its DynamoDB.
    Local(Url),
    /// A stack's table, by its name.
    Stack(String),
}

impl TableArguments {
    /// A store of the table. The local program must answer.
    pub(crate) async fn store(&self) -> Result<Store> {
        let (client, table) = match self.target()? {
            TableTarget::Stack(table) => (environment().await.client(), table),
            TableTarget::Local(url) => {
                let connected = async { TcpStream::connect(&*url.socket_addrs(|| None)?).await };
                connected.await.map_err(|cause| {
                    let start = "start `lately`, or name the URL of its DynamoDB with --local=URL";
                    let text = format!("no program answers at {url} ({cause}): {start}");
                    Failure::new(1, format!("{text}, or a stack's table with --table"))
                })?;
                (local_environment(&url).client(), TABLE.to_owned())
            }
        };
        // The environment sets the store's feeds: `FEED_RETENTION_DAYS` and `FAN_OUT_LIMIT`.
        let own = std::env::vars_os().filter(|(name, _)| name != "TABLE_NAME");
        let settings = Settings::from_vars(own.chain([("TABLE_NAME".into(), table.into())]))?;
        let connection = Connection::new(client, settings.table_name, World::new(), OPERATION_BUDGET);
        Ok(Store::new(connection).with_feeds(settings.feeds))
    }

    /// The number of items to read per second, if the command reads the whole table: by default, `stack` of a stack's.
    pub(crate) fn rate(&self, wanted: Option<NonZeroU32>, stack: NonZeroU32) -> Result<NonZeroU32> {
        let is_local = matches!(self.target()?, TableTarget::Local(_));
        Ok(wanted.unwrap_or(if is_local { LOCAL_RATE } else { stack }))
    }

    /// The table that the arguments and the environment name.
    pub(crate) fn target(&self) -> Result<TableTarget> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        choose(self.local.clone(), self.table.clone(), variable)
    }
}

/// Chooses the table. The local program is chosen unless something names a stack.
fn choose(
    local: Option<Url>,
    table: Option<String>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<TableTarget> {
    let url_of = |name| variable(name).and_then(|url| parse_url(&url).ok());
    if let Some(url) = local {
        return Ok(TableTarget::Local(url));
    }
    if let Some(table) = table {
        return Ok(TableTarget::Stack(table));
    }
    if url_of("LATELY_URL").is_some_and(|url| !is_here(&url)) {
        return Err(unnamed("LATELY_URL"));
    }
    for name in ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"] {
        match url_of(name) {
            Some(url) if is_here(&url) => return Ok(TableTarget::Local(url)),
            Some(_) => return Err(unnamed(name)),
            None => {}
        }
    }
    let names_an_account = ["AWS_PROFILE", "AWS_ACCESS_KEY_ID"];
    if let Some(name) = names_an_account.into_iter().find(|name| variable(name).is_some()) {
        return Err(unnamed(name));
    }
    Ok(TableTarget::Local(LOCAL_URL.parse().expect("a URL")))
}

/// The environment names a stack, and the command names no table.
fn unnamed(variable: &str) -> Failure {
    let choose =
        "name a stack's table with --table (or LATELY_TABLE), or use the local program's with --local";
    let problem = format!("{variable} is set, so the table could be a stack's or the local program's");
    Failure::new(1, format!("{problem}: {choose}"))
}

fn parse_table(text: &str) -> Result<String, String> {
    let refused = "must be 3 to 255 of A-Z a-z 0-9 _ . -";
    if is_table_name(text) { Ok(text.to_owned()) } else { Err(refused.to_owned()) }
}

/// The AWS configuration, found as the AWS command line finds it: variables, profiles, roles. It trusts the system's
/// root certificates.
pub(crate) async fn environment() -> Environment {
    let roots = TrustRoots::Native;
    let chain = aws_config::defaults(aws::behavior()).http_client(aws::https(roots));
    // Boxed, because the future of the credentials chain is large.
    let sdk = Box::pin(chain.load()).await;
    Environment { sdk, roots }
}

/// The configuration for the local program, which accepts any credentials and any region.
fn local_environment(url: &Url) -> Environment {
    let credentials = Credentials::new("local", "local", None, None, "local");
    let sdk = SdkConfig::builder()
        .behavior_version(aws::behavior())
        .region(Region::new("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(url.as_str());
    Environment { sdk: sdk.build(), roots: TrustRoots::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(
        local: Option<&str>,
        table: Option<&str>,
        variables: &[(&str, &str)],
    ) -> Result<TableTarget, String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let local = local.map(|url| url.parse().expect("a URL"));
        choose(local, table.map(str::to_owned), variable).map_err(|error| error.to_string())
    }

    #[test]
    fn only_a_named_table_is_a_stacks() {
        let local = |url: &str| Ok(TableTarget::Local(url.parse().expect("a URL")));
        let (remote, here) =
            (("LATELY_URL", "https://api.example.org"), ("LATELY_URL", "http://localhost:3001"));
        let account = ("AWS_ACCESS_KEY_ID", "x");
        assert_eq!(chosen(None, None, &[]), local(LOCAL_URL));
        assert_eq!(chosen(None, None, &[here, ("AWS_REGION", "eu-west-1")]), local(LOCAL_URL));
        assert_eq!(chosen(None, Some("mine"), &[here]), Ok(TableTarget::Stack("mine".to_owned())));
        assert_eq!(chosen(Some(LOCAL_URL), Some("mine"), &[remote, account]), local(LOCAL_URL));
        let endpoint = ("AWS_ENDPOINT_URL", "http://127.0.0.1:8001");
        assert_eq!(chosen(None, None, &[account, endpoint]), local(endpoint.1));
        for (variables, name) in [
            (&[remote][..], "LATELY_URL"),
            (&[account], "AWS_ACCESS_KEY_ID"),
            (&[("AWS_PROFILE", "prod")], "AWS_PROFILE"),
            (&[("AWS_ENDPOINT_URL", "https://dynamodb.example.org")], "AWS_ENDPOINT_URL"),
        ] {
            let refused = chosen(None, None, variables).expect_err(name);
            assert!(
                refused.starts_with(&format!("{name} is set")) && refused.contains("--local"),
                "{refused}"
            );
        }
    }
}
