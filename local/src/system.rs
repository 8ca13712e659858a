//! The parts of the system, put together.

use std::path::Path;

use axum::Router;
use axum::middleware::from_fn_with_state;
use lately_engine::template::{Template, TemplateError};
use lately_engine::{Clock, Engine, EngineError};
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::route::Routes;
use lately_kit::world::World;
use lately_kit::{clock, edge};
use lately_store::{Store, TableError};

use crate::tokens;

/// The template, as it was when this program was built.
pub const TEMPLATE: &str = include_str!("../../template.yaml");

/// The table's name here.
const TABLE: &str = "lately";

/// The engine with the table, and a store on it.
#[derive(Clone, Debug)]
pub struct System {
    /// DynamoDB.
    pub engine: Engine,
    /// What the functions share.
    pub store: Store,
}

/// Why the system could not be put together.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The engine could not be opened.
    #[error("DynamoDB cannot start: {0}")]
    Engine(#[from] EngineError),
    /// The template is not what it should be.
    #[error("template.yaml: {0}")]
    Template(#[from] TemplateError),
    /// The tokens that are good here could not be made.
    #[error("the tokens cannot be made: {0}")]
    Tokens(#[from] TableError),
}

impl System {
    /// A system in memory, or in a folder.
    ///
    /// # Errors
    /// If the folder cannot be used.
    pub async fn open(data: Option<&Path>) -> Result<Self, OpenError> {
        let options = lately_engine::Options { clock: Clock::from_fn(clock::unix_now), ..Default::default() };
        let engine = match data {
            None => Engine::memory(&options),
            Some(folder) => Engine::open(folder, &options),
        }?;
        let client = engine.client();
        // In a folder that was used before, the table is there already.
        if client.describe_table().table_name(TABLE).send().await.is_err() {
            engine.create_table(&Template::parse(TEMPLATE)?.table()?, TABLE)?;
        }
        let store = Store::new(client, TABLE, World::new(), OPERATION_BUDGET);
        tokens::create(&store).await?;
        Ok(Self { engine, store })
    }

    /// The routes of all functions.
    #[must_use]
    pub fn routes(&self) -> Routes {
        lately_write_event::routes(self.store.clone())
            .and(lately_query_latest::routes(self.store.clone()))
            .and(lately_records::routes(self.store.clone()))
    }

    /// The API, as the gateway, the authorizer and the functions make it.
    pub fn api(&self) -> Router {
        let authorizer = from_fn_with_state(self.store.clone(), lately_authorize::authorize);
        // Of known routes only: to others the gateway says that there is none, whoever asks.
        edge::around(self.routes().into_router().route_layer(authorizer))
    }
}
