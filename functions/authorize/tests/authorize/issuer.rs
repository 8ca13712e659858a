//! An issuer for tests: a small HTTP server with a discovery document and keys, which a test changes while it runs.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// The answers of the server.
#[derive(Clone, Debug)]
pub(crate) enum Behaviour {
    /// The keys.
    Keys(Vec<Value>),
    /// A document that is none.
    Text(String),
    /// The status and this header.
    Status(u16, String),
    /// Nothing: the connection is closed.
    Down,
    /// Nothing: the connection stays open.
    Silent,
}

/// A running issuer.
pub(crate) struct TestIssuer {
    pub(crate) url: String,
    behaviour: Arc<Mutex<Behaviour>>,
    /// The paths that were requested.
    asked: Arc<Mutex<Vec<String>>>,
}

impl TestIssuer {
    /// Starts an issuer with these keys. Its thread ends with the process.
    pub(crate) fn start(keys: Vec<Value>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let behaviour = Arc::new(Mutex::new(Behaviour::Keys(keys)));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let issuer = Self { url: url.clone(), behaviour: Arc::clone(&behaviour), asked: Arc::clone(&asked) };
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for connection in listener.incoming() {
                let connection = connection.unwrap();
                let Some(path) = path(&connection) else { continue };
                asked.lock().unwrap().push(path.clone());
                let behaviour = behaviour.lock().unwrap().clone();
                match behaviour {
                    Behaviour::Down => {}
                    Behaviour::Silent => open.push(connection),
                    behaviour => answer(&connection, &url, &path, behaviour),
                }
            }
        });
        issuer
    }

    pub(crate) fn becomes(&self, behaviour: Behaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    /// The paths that were requested since the last call.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

/// The path of the request on a connection.
fn path(connection: &TcpStream) -> Option<String> {
    let mut lines = BufReader::new(connection).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    lines.find(String::is_empty)?;
    Some(path)
}

fn answer(mut connection: &TcpStream, url: &str, path: &str, behaviour: Behaviour) {
    let discovery = json!({"issuer": url, "jwks_uri": format!("{url}/keys")}).to_string();
    let (status, header, body) = match behaviour {
        Behaviour::Keys(_) if path == "/.well-known/openid-configuration" => (200, String::new(), discovery),
        Behaviour::Keys(keys) => (200, String::new(), json!({"keys": keys}).to_string()),
        Behaviour::Text(text) => (200, String::new(), text),
        Behaviour::Status(status, header) => (status, header, String::new()),
        Behaviour::Down | Behaviour::Silent => unreachable!("there is an answer"),
    };
    let head =
        format!("HTTP/1.1 {status} x\r\nconnection: close\r\n{header}content-length: {}\r\n\r\n", body.len());
    // A client that has read enough closes the connection.
    drop(connection.write_all(head.as_bytes()).and_then(|()| connection.write_all(body.as_bytes())));
}
