//! A proxy between a command and the API that loses some requests and responses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The proxy's handling of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Passes on the request and its response.
    None,
    /// Closes the connection without passing the request on.
    Lost,
    /// Passes on the request, and closes the connection instead of responding.
    AnswerLost,
    /// Responds itself, with this status and a `Retry-After` of one second.
    Busy(u16),
}

/// A proxy in front of an API. It applies a list of faults to its first requests.
pub(super) struct Proxy {
    pub(super) address: String,
    pub(super) asked: Arc<AtomicUsize>,
}

impl Proxy {
    pub(super) fn before(api: &str, faults: &[Fault]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(AtomicUsize::new(0));
        let (api, faults, counter) = (api.to_owned(), faults.to_vec(), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (api, faults, counter) = (api.clone(), faults.clone(), counter.clone());
                std::thread::spawn(move || hand_on(stream, &api, &faults, &counter));
            }
        });
        Self { address, asked }
    }
}

fn hand_on(mut stream: TcpStream, api: &str, faults: &[Fault], asked: &AtomicUsize) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let begin = head.len();
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
        let line = head[begin..].to_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        if begin == 0 {
            head += "connection: close\r\n";
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let fault = faults.get(asked.fetch_add(1, Ordering::SeqCst)).copied().unwrap_or(Fault::None);
    if fault == Fault::Lost {
        return Ok(());
    }
    if let Fault::Busy(status) = fault {
        let head = format!("HTTP/1.1 {status} Busy\r\nretry-after: 1\r\nconnection: close\r\n");
        return write!(stream, "{head}content-length: 0\r\n\r\n");
    }
    let mut onward = TcpStream::connect(api)?;
    onward.write_all(head.as_bytes())?;
    onward.write_all(&body)?;
    // A stream is passed on as it comes.
    match fault {
        Fault::AnswerLost => std::io::copy(&mut onward, &mut std::io::sink()),
        _ => std::io::copy(&mut onward, &mut stream),
    }
    .map(drop)
}
