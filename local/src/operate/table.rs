//! The table that an operator's command works on, with the AWS credentials of the environment.

use aws_sdk_dynamodb::Client;
use lately_kit::aws::{self, Environment};
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::settings::{Settings, SettingsError};
use lately_kit::trust::TrustRoots;
use lately_kit::world::World;
use lately_store::Store;
use lately_table::Connection;

/// The argument that names the table.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TableArguments {
    /// The table: the stack's output TableName
    #[arg(long = "table", env = "LATELY_TABLE", value_name = "NAME", default_value = "lately")]
    name: String,
}

impl TableArguments {
    /// A store of the table.
    pub(crate) async fn store(&self) -> Result<Store, SettingsError> {
        store_of(client().await, &self.name)
    }
}

/// A client of DynamoDB, configured by the environment.
pub(crate) async fn client() -> Client {
    environment().await.client()
}

/// A store of a table. The environment sets its feeds: `FEED_RETENTION_DAYS` and `FAN_OUT_LIMIT`.
pub(crate) fn store_of(client: Client, table: &str) -> Result<Store, SettingsError> {
    let own = std::env::vars_os().filter(|(name, _)| name != "TABLE_NAME");
    let vars = own.chain([("TABLE_NAME".into(), table.into())]);
    let settings = Settings::from_vars(vars)?;
    Ok(Store::new(connection(client, settings.table_name)).with_feeds(settings.feeds))
}

/// A connection to a table, with the time that a function's operation has.
pub(crate) fn connection(client: Client, table: impl Into<String>) -> Connection {
    Connection::new(client, table, World::new(), OPERATION_BUDGET)
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
