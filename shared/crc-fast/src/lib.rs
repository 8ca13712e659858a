//! In place of the crate `crc-fast`, by `[patch.crates-io]` of the workspace: what `object_store` asks of it, and no more.
//!
//! That is one checksum, which is made where a bucket is opened with it, and ours are not. The crate has the tables of
//! forty, 0.7 MB of them in `report` (docs/cold-start.md). And it is a library for C besides, for which cargo compiles
//! all that is below it in another mode: what functions share was built twice.
//!
//! ```
//! let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc64Nvme);
//! digest.update(b"1234");
//! digest.update(b"56789");
//! assert_eq!(digest.finalize(), 0xae8b_1486_0a79_9888);
//! ```

use std::fmt;

use crc::{CRC_64_NVME, Crc, Table};

static NVME: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_NVME);

/// A kind of checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrcAlgorithm {
    /// `x-amz-checksum-crc64nvme`.
    Crc64Nvme,
}

/// A checksum of what comes piece by piece.
#[derive(Clone)]
pub struct Digest(crc::Digest<'static, u64, Table<16>>);

impl Digest {
    /// Of nothing yet.
    #[must_use]
    pub fn new(algorithm: CrcAlgorithm) -> Self {
        match algorithm {
            CrcAlgorithm::Crc64Nvme => Self(NVME.digest()),
        }
    }

    /// Takes the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// Of all pieces.
    #[must_use]
    pub fn finalize(self) -> u64 {
        self.0.finalize()
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Digest").finish_non_exhaustive()
    }
}
