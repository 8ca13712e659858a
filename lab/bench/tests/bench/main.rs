//! Tests of the benches, in one binary, because each binary links the whole tree.

mod growth;
mod overload;
mod published;
