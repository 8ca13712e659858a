//! Objects with faults: each call may fail, hang, or be its process's last, before or after it took effect.

use std::fmt;
use std::future::pending;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use lately_engine::fault::Moment;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use tokio::sync::watch;

/// The fault of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The call fails.
    Fail(Moment),
    /// The process dies: neither this call nor a later one returns.
    Crash(Moment),
    /// The call takes this long.
    Hang(Moment, Duration),
}

/// The faults of a process's calls, which are counted from 1.
#[derive(Clone)]
pub(crate) struct Plan(Arc<dyn Fn(u64) -> Option<Effect> + Send + Sync>);

impl Plan {
    pub(crate) fn none() -> Self {
        Self::by(|_| None)
    }

    pub(crate) fn nth(n: u64, effect: Effect) -> Self {
        Self::by(move |call| (call == n).then_some(effect))
    }

    pub(crate) fn by(decide: impl Fn(u64) -> Option<Effect> + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plan")
    }
}

/// The objects as seen by one process. Clones belong to the same process.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    inner: Arc<dyn ObjectStore>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    plan: Plan,
    account: Mutex<Account>,
    died: watch::Sender<bool>,
}

/// The calls and the injected faults.
#[derive(Debug, Default)]
struct Account {
    calls: Vec<String>,
    injected: usize,
    in_flight: usize,
    peak: usize,
}

impl Objects {
    pub(crate) fn new(inner: Arc<dyn ObjectStore>, plan: Plan) -> Self {
        let shared = Shared { plan, account: Mutex::default(), died: watch::Sender::new(false) };
        Self { inner, shared: Arc::new(shared) }
    }

    /// Every call so far, in order: its kind and its object.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.shared.account.lock().unwrap().calls.clone()
    }

    pub(crate) fn is_hurt(&self) -> bool {
        self.shared.account.lock().unwrap().injected > 0
    }

    /// The most bytes that were being sent to objects at once.
    pub(crate) fn peak(&self) -> usize {
        self.shared.account.lock().unwrap().peak
    }

    /// Runs work until it ends, or until a call kills the process.
    pub(crate) async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut died = self.shared.died.subscribe();
        tokio::select! {
            biased;
            result = work => Some(result),
            _ = died.wait_for(|died| *died) => None,
        }
    }
}

impl Shared {
    /// Makes a call with its fault.
    async fn call<T>(&self, name: String, work: impl Future<Output = Result<T>>) -> Result<T> {
        if *self.died.borrow() {
            return pending().await;
        }
        let number = {
            let mut account = self.account.lock().unwrap();
            account.calls.push(name);
            account.calls.len() as u64
        };
        let effect = (self.plan.0)(number);
        self.account.lock().unwrap().injected += usize::from(effect.is_some());
        let (before, after) = match effect {
            Some(
                Effect::Fail(Moment::Before)
                | Effect::Crash(Moment::Before)
                | Effect::Hang(Moment::Before, _),
            ) => (effect, None),
            _ => (None, effect),
        };
        self.suffer(before).await?;
        let done = work.await;
        self.suffer(after).await?;
        done
    }

    async fn suffer(&self, effect: Option<Effect>) -> Result<()> {
        match effect {
            None => Ok(()),
            Some(Effect::Fail(_)) => Err(Error::Generic { store: "Objects", source: "injected".into() }),
            Some(Effect::Hang(_, time)) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Some(Effect::Crash(_)) => {
                self.died.send_replace(true);
                pending().await
            }
        }
    }

    fn sent(&self, bytes: usize) -> InFlight<'_> {
        let mut account = self.account.lock().unwrap();
        account.in_flight += bytes;
        account.peak = account.peak.max(account.in_flight);
        InFlight { shared: self, bytes }
    }
}

/// Bytes that are being sent.
struct InFlight<'a> {
    shared: &'a Shared,
    bytes: usize,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.shared.account.lock().unwrap().in_flight -= self.bytes;
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Objects")
    }
}

#[async_trait]
impl ObjectStore for Objects {
    async fn put_opts(&self, to: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        let _in_flight = self.shared.sent(payload.content_length());
        self.shared.call(format!("put {to}"), self.inner.put_opts(to, payload, opts)).await
    }

    async fn put_multipart_opts(
        &self,
        to: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = self.inner.put_multipart_opts(to, opts);
        let upload = self.shared.call(format!("multipart {to}"), upload).await?;
        Ok(Box::new(Upload { upload, shared: Arc::clone(&self.shared), to: to.clone() }))
    }

    async fn get_opts(&self, from: &Path, options: GetOptions) -> Result<GetResult> {
        let kind = match (options.head, &options.range) {
            (true, _) => "head",
            (false, Some(_)) => "range",
            (false, None) => "get",
        };
        self.shared.call(format!("{kind} {from}"), self.inner.get_opts(from, options)).await
    }

    async fn get_ranges(&self, from: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.shared.call(format!("ranges {from}"), self.inner.get_ranges(from, ranges)).await
    }

    fn delete_stream(&self, names: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let objects = self.clone();
        let delete = move |name: Result<Path>| {
            let objects = objects.clone();
            async move {
                let name = name?;
                let one = stream::iter([Ok(name.clone())]).boxed();
                let mut deleted = objects.inner.delete_stream(one);
                let work = async { deleted.next().await.unwrap() };
                objects.shared.call(format!("delete {name}"), work).await
            }
        };
        names.then(delete).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (objects, prefix) = (self.clone(), prefix.cloned());
        let listed = async move {
            let name = format!("list {}", prefix.clone().unwrap_or_default());
            let work = async { Ok(objects.inner.list(prefix.as_ref()).collect::<Vec<_>>().await) };
            match objects.shared.call(name, work).await {
                Ok(listed) => stream::iter(listed).boxed(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            }
        };
        listed.into_stream().flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.shared.call("folders".to_owned(), self.inner.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.shared.call(format!("copy {to}"), self.inner.copy_opts(from, to, options)).await
    }
}

/// An upload in parts.
#[derive(Debug)]
struct Upload {
    upload: Box<dyn MultipartUpload>,
    shared: Arc<Shared>,
    to: Path,
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (shared, name) = (Arc::clone(&self.shared), format!("part {}", self.to));
        let bytes = data.content_length();
        let part = self.upload.put_part(data);
        Box::pin(async move {
            let _in_flight = shared.sent(bytes);
            // The delay lets several parts be sent at once, as over a network.
            let slow = async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                part.await
            };
            shared.call(name, slow).await
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.shared.call(format!("complete {}", self.to), self.upload.complete()).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.shared.call(format!("abort {}", self.to), self.upload.abort()).await
    }
}
