//! The engine. It is opened in memory or on a directory, and gives the code under test an SDK client.

use std::path::Path;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use dynoxide::Database;

use crate::client;
use crate::clock::Clock;
use crate::core::Core;
use crate::definition::TableDefinition;
use crate::directory_lock::DirectoryLock;
use crate::dispatch::answer;
use crate::error::EngineError;
use crate::fault::{Faults, FaultyClient, Layer};
use crate::journal::Journal;
use crate::ledger::Ledger;
use crate::operation::Operation;
use crate::options::Options;
use crate::replica::{Lag, Replicas};
use crate::stream::Stream;

/// DynamoDB inside the process. Clones are cheap and share one engine.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(crate) core: Arc<Core>,
    client: Client,
}

impl Engine {
    /// An empty engine in memory.
    ///
    /// # Errors
    /// [`EngineError::Database`], if SQLite cannot open a database.
    pub fn memory(options: &Options) -> Result<Self, EngineError> {
        let db = Database::memory()?;
        Ok(Self::new(Core::new(db, Ledger::new(options)?, options, None)))
    }

    /// An engine that stores its items and stream in a directory, which it creates if necessary. Only one engine at a
    /// time can use a directory.
    ///
    /// # Errors
    /// [`EngineError::InUse`], if another process uses the directory; [`EngineError::Directory`] and
    /// [`EngineError::Database`], if the directory cannot be read or written.
    pub fn open(directory: &Path, options: &Options) -> Result<Self, EngineError> {
        std::fs::create_dir_all(directory)?;
        let lock = DirectoryLock::hold(directory)?;
        let file = directory.join("items.sqlite");
        let file = file
            .to_str()
            .ok_or_else(|| std::io::Error::other("the path is not UTF-8, which the database needs"))?;
        let db = Database::new(file)?;
        // This sets `synchronous = NORMAL`: a killed process loses nothing, a power cut at most the last writes.
        db.disable_bulk_loading()?;
        let mut ledger = Ledger::new(options)?;
        if let Some(replicas) = &mut ledger.replicas {
            replicas.copy(&db, directory)?;
        }
        let stream = directory.join("stream");
        let now = options.clock.now_micros();
        let (journal, rest) = Journal::open(&stream, options.retention, now, &options.progress)?;
        let tables = db.list_tables(Default::default())?.table_names;
        for name in &tables {
            ledger.expiry.index(name);
            let table = ledger.table(&db, name)?;
            if table.is_some_and(|table| table.stream.is_some()) {
                ledger.open_log(name);
            }
        }
        let intent = ledger.continue_journal(journal, rest);
        let core = Core::new(db, ledger, options, Some(lock));
        intent.map_or(Ok(()), |intent| core.finish(intent))?;
        Ok(Self::new(core))
    }

    fn new(core: Core) -> Self {
        let core = Arc::new(core);
        let client = client::build(client::shared(Layer::faultless(Arc::clone(&core))));
        Self { core, client }
    }

    /// Creates a table with the keys, indexes, stream and TTL of its definition.
    ///
    /// # Errors
    /// [`EngineError::Refused`], if DynamoDB would refuse the definition, or the table exists already.
    pub fn create_table(&self, definition: &TableDefinition, name: &str) -> Result<(), EngineError> {
        answer(&self.core, Operation::CreateTable, definition.create_request(name).as_bytes())?;
        if let Some(request) = definition.ttl_request(name) {
            answer(&self.core, Operation::UpdateTimeToLive, request.as_bytes())?;
        }
        Ok(())
    }

    /// An SDK client of this engine. It does not retry and has no faults.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A client with faults. It records all calls and faults.
    pub fn client_with(&self, faults: Faults) -> FaultyClient {
        FaultyClient::new(Layer::recording(Arc::clone(&self.core), &faults))
    }

    /// A client without faults at first, for a program that runs for days: it records only the latest faults.
    pub fn live_client(&self) -> FaultyClient {
        FaultyClient::new(Layer::faultless(Arc::clone(&self.core)))
    }

    /// A table's stream, if the table exists and its stream is on.
    pub fn stream(&self, table: &str) -> Option<Stream> {
        let described = self.core.table(table).ok()??;
        let view = described.stream.as_ref()?.view;
        let arn = described.stream_arn()?;
        Some(Stream::new(Arc::clone(&self.core), table, &arn, view))
    }

    /// Removes up to `limit` items whose TTL has passed, as the TTL service does: the stream's records have its
    /// identity. Returns the number of items removed.
    ///
    /// Items that were in the directory when it was opened are found a page of 1 MB each call, so that neither the start
    /// nor a call takes long.
    ///
    /// # Errors
    /// [`EngineError::Refused`], if the database fails.
    pub fn expire(&self, limit: usize) -> Result<usize, EngineError> {
        Ok(self.core.expire(limit)?)
    }

    /// Sets the lag of eventually consistent reads from now on. `None` ends it. Reads see all earlier changes at once.
    ///
    /// # Errors
    /// [`EngineError::Database`] and [`EngineError::Directory`], if the items cannot be copied. The lag then stays as
    /// it was.
    pub fn set_lag(&self, lag: Option<Lag>) -> Result<(), EngineError> {
        let folder = tempfile::tempdir()?;
        // The lock prevents writes from falling between the copy and the first change that the replicas observe.
        let mut ledger = self.core.ledger();
        let mut replicas = lag.map(Replicas::new).transpose()?;
        if let Some(replicas) = &mut replicas {
            replicas.copy(&self.core.db, folder.path())?;
        }
        ledger.replicas = replicas;
        Ok(())
    }

    /// The number of items with a TTL, as far as they were found.
    pub fn expiring(&self) -> usize {
        self.core.ledger().expiry.len()
    }

    /// The engine's clock.
    pub fn clock(&self) -> &Clock {
        &self.core.clock
    }
}
