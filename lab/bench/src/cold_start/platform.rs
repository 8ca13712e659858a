//! The platform around a function: the Runtime API that it polls, and an endpoint to which it opens TLS.
//!
//! Both run on threads of their own and without a library, so that the measured time is that of the function.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::Result;

/// The longest wait for a function. A step usually takes milliseconds, and a second under valgrind.
const PATIENCE: Duration = Duration::from_secs(60);

/// The deadline of the events, in milliseconds since 1970: the year 2100.
const DEADLINE_MILLIS: u64 = 4_102_444_800_000;

/// The Runtime API, which serves one function after the other.
#[derive(Debug)]
pub(super) struct RuntimeApi {
    address: SocketAddr,
    polls: Receiver<Poll>,
    answers: Receiver<String>,
}

/// The poll of a function that waits for an event.
#[derive(Debug)]
pub(super) struct Poll {
    /// The time of the poll.
    pub(super) at: Instant,
    connection: TcpStream,
}

impl RuntimeApi {
    /// Listens on a free port.
    ///
    /// # Errors
    /// If no port is free.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let ((polls, on_poll), (answers, on_answer)) = (channel(), channel());
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(std::io::Result::ok) {
                let (polls, answers) = (polls.clone(), answers.clone());
                // A connection ends only when its function has ended.
                std::thread::spawn(move || drop(serve(&connection, &polls, &answers)));
            }
        });
        Ok(Self { address, polls: on_poll, answers: on_answer })
    }

    pub(super) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Waits for the next poll.
    ///
    /// # Errors
    /// If no poll comes within [`PATIENCE`].
    pub(super) fn poll(&self) -> Result<Poll> {
        Ok(self.polls.recv_timeout(PATIENCE).map_err(|_| "the function does not poll")?)
    }

    /// Waits for the function's next response or error.
    ///
    /// # Errors
    /// If none comes within [`PATIENCE`].
    pub(super) fn answer(&self) -> Result<String> {
        Ok(self.answers.recv_timeout(PATIENCE).map_err(|_| "the function does not answer")?)
    }
}

impl Poll {
    /// Sends an event to the function, and returns the time at which it was sent.
    ///
    /// # Errors
    /// If the function has ended.
    pub(super) fn answer(mut self, event: &str) -> Result<Instant> {
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nlambda-runtime-aws-request-id: \
             8476a536-e9f4-11e8-9739-2dfe598c3fcd\r\nlambda-runtime-deadline-ms: {DEADLINE_MILLIS}\r\n\
             lambda-runtime-invoked-function-arn: arn:aws:lambda:eu-central-1:123456789012:function:function\r\n\
             lambda-runtime-trace-id: Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0\r\n\
             content-length: {}\r\n\r\n{event}",
            event.len()
        );
        let at = Instant::now();
        self.connection.write_all(answer.as_bytes())?;
        Ok(at)
    }
}

/// Serves one connection until the function closes it.
fn serve(connection: &TcpStream, polls: &Sender<Poll>, answers: &Sender<String>) -> Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection);
    loop {
        let (line, body) = request(&mut reader)?;
        if line.starts_with("GET ") {
            polls.send(Poll { at: Instant::now(), connection: connection.try_clone()? })?;
        } else {
            answers.send(body)?;
            (&*connection).write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")?;
        }
    }
}

/// Reads a request: its first line, and its body.
fn request(reader: &mut impl BufRead) -> Result<(String, String)> {
    let line = line(reader)?;
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let header = self::line(reader)?.to_ascii_lowercase();
        match header.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse()?,
            Some(("transfer-encoding", _)) => is_chunked = true,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = Vec::new();
    if is_chunked {
        loop {
            let length = u64::from_str_radix(&self::line(reader)?, 16)?;
            reader.by_ref().take(length).read_to_end(&mut body)?;
            self::line(reader)?;
            if length == 0 {
                break;
            }
        }
    } else {
        reader.by_ref().take(length).read_to_end(&mut body)?;
    }
    Ok((line, String::from_utf8(body)?))
}

/// Reads a line, without its line break.
fn line(reader: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err("the connection ended".into());
    }
    Ok(line.trim_end().to_owned())
}

/// An endpoint that accepts connections, notes when TLS begins, and never responds.
#[derive(Debug)]
pub(super) struct Endpoint {
    address: SocketAddr,
    hellos: Receiver<Instant>,
}

impl Endpoint {
    /// Listens on a free port.
    ///
    /// # Errors
    /// If no port is free.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let (hellos, on_hello) = channel();
        std::thread::spawn(move || {
            for mut connection in listener.incoming().map_while(std::io::Result::ok) {
                // A TLS record of type handshake that contains a ClientHello: RFC 8446, sections 5.1 and 4.
                let mut head = [0; 6];
                let is_hello = connection.read_exact(&mut head).is_ok() && (head[0], head[5]) == (22, 1);
                if is_hello && hellos.send(Instant::now()).is_err() {
                    break;
                }
            }
        });
        Ok(Self { address, hellos: on_hello })
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Waits for the first ClientHello after a moment, and returns its time. Earlier ones are skipped, because an
    /// earlier function may have opened several connections.
    ///
    /// # Errors
    /// If none comes within [`PATIENCE`].
    pub(super) fn client_hello(&self, after: Instant) -> Result<Instant> {
        loop {
            let hello = self.hellos.recv_timeout(PATIENCE).map_err(|_| "no TLS reaches the endpoint")?;
            if hello > after {
                return Ok(hello);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_a_request_stops_at_its_end() {
        let sent = b"POST /a HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
            3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\nGET /c HTTP/1.1\r\n\r\n";
        let mut reader = &sent[..];
        let expected = [("POST /a", "{}"), ("POST /b", "abc0123456789"), ("GET /c", "")];
        for (line, body) in expected {
            let request = request(&mut reader).expect("a request");
            assert_eq!(request, (format!("{line} HTTP/1.1"), body.to_owned()));
        }
        assert!(reader.is_empty());
    }
}
