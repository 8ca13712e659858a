//! A bucket that records the S3 requests which `object_store` would send for each call.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};

use crate::actions::witness::Witness;

/// The prefix of all report files here, instead of the template's parameter.
pub(super) const PREFIX: &str = "reports";

/// The bucket, as the template writes its name.
const BUCKET: &str = "arn:${AWS::Partition}:s3:::${Bucket}";

#[derive(Clone, Debug)]
pub(super) struct Objects {
    inner: Arc<InMemory>,
    witness: Witness,
    /// True if uploads of parts fail.
    failing: bool,
}

impl Objects {
    pub(super) fn new(witness: &Witness) -> Self {
        Self { inner: Arc::default(), witness: witness.clone(), failing: false }
    }

    /// The same objects, but every upload of a part fails.
    pub(super) fn failing(&self) -> Self {
        Self { failing: true, ..self.clone() }
    }

    fn saw(&self, action: &str, name: &Path) {
        assert!(name.as_ref().starts_with(&format!("{PREFIX}/")), "{name}");
        self.witness.saw(&format!("s3:{action}"), &format!("{BUCKET}/${{ReportPrefix}}/*"), [String::new()]);
    }

    fn saw_list(&self, prefix: &str) {
        let prefix = prefix.replacen(PREFIX, "${ReportPrefix}", 1);
        self.witness.saw("s3:ListBucket", BUCKET, [prefix]);
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Objects")
    }
}

#[async_trait]
impl ObjectStore for Objects {
    async fn put_opts(&self, to: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.saw("PutObject", to);
        self.inner.put_opts(to, payload, options).await
    }

    /// CreateMultipartUpload, UploadPart and CompleteMultipartUpload all need s3:PutObject.
    async fn put_multipart_opts(
        &self,
        to: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.saw("PutObject", to);
        let upload = self.inner.put_multipart_opts(to, options).await?;
        Ok(Box::new(Upload { upload, objects: self.clone(), to: to.clone() }))
    }

    /// GetObject and HeadObject need s3:GetObject. S3 says that an object does not exist only to a caller who also has
    /// s3:ListBucket, without a prefix; other callers get an access error.
    async fn get_opts(&self, from: &Path, options: GetOptions) -> Result<GetResult> {
        self.saw("GetObject", from);
        let got = self.inner.get_opts(from, options).await;
        if let Err(Error::NotFound { .. }) = &got {
            self.saw_list(&format!("{PREFIX}/"));
        }
        got
    }

    async fn get_ranges(&self, from: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.saw("GetObject", from);
        self.inner.get_ranges(from, ranges).await
    }

    /// DeleteObjects needs s3:DeleteObject for each object.
    fn delete_stream(&self, names: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let objects = self.clone();
        let seen = names.inspect(move |name| objects.saw("DeleteObject", name.as_ref().unwrap()));
        self.inner.delete_stream(seen.boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.saw_list(prefix.unwrap().as_ref());
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.saw_list(prefix.unwrap().as_ref());
        self.inner.list_with_delimiter(prefix).await
    }

    /// CopyObject reads the source and writes the target.
    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.saw("GetObject", from);
        self.saw("PutObject", to);
        self.inner.copy_opts(from, to, options).await
    }
}

/// An upload in parts.
#[derive(Debug)]
struct Upload {
    upload: Box<dyn MultipartUpload>,
    objects: Objects,
    to: Path,
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        if self.objects.failing {
            return Box::pin(async { Err(Error::Generic { store: "Objects", source: "injected".into() }) });
        }
        self.upload.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.upload.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        self.objects.saw("AbortMultipartUpload", &self.to);
        self.upload.abort().await
    }
}
