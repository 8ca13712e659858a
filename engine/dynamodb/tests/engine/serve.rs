//! The engine on a port.

use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;

use hyper::Response;
use hyper::service::service_fn;
use lately_engine::Engine;
use lately_engine::connections::{self, ConnectionBounds};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::support::{TABLE, engine, item};

/// Sends one request over a new connection, as another client would, and returns the status and the body.
async fn request(address: SocketAddr, target: &str, body: &str) -> (u16, serde_json::Value) {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let head = format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-amz-target: {target}\r\n\
         authorization: AWS4-HMAC-SHA256 whatever\r\ncontent-type: application/x-amz-json-1.0\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.to_lowercase().contains("x-amzn-requestid: "));
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    (status, serde_json::from_str(body).unwrap())
}

async fn serve(engine: &Engine) -> (SocketAddr, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let engine = engine.clone();
    let server = tokio::spawn(async move {
        let stop = async { drop(stopped.await) };
        engine.serve(listener, stop).await;
    });
    (address, stop, server)
}

#[tokio::test]
async fn clients_on_the_port_see_the_same_items_until_it_stops() {
    let engine = engine();
    let (address, stop, server) = serve(&engine).await;
    let put = engine.client().put_item().table_name(TABLE);
    put.set_item(Some(item("a", "1", []))).send().await.unwrap();
    let body = format!(r#"{{"TableName":"{TABLE}","Key":{{"pk":{{"S":"a"}},"sk":{{"S":"1"}}}}}}"#);
    let (status, answer) = request(address, "DynamoDB_20120810.GetItem", &body).await;
    assert_eq!((status, &answer["Item"]["pk"]["S"]), (200, &"a".into()));

    let (status, answer) =
        request(address, "DynamoDB_20120810.GetItem", r#"{"TableName":"none","Key":{"pk":{"S":"a"}}}"#).await;
    let kind = answer["__type"].as_str().unwrap();
    assert_eq!((status, kind), (400, "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"));
    let (status, _) = request(address, "DynamoDB_20120810.Nonsense", "{}").await;
    assert_eq!(status, 400);

    // An idle connection does not keep the server from stopping.
    let idle = TcpStream::connect(address).await.unwrap();
    stop.send(()).unwrap();
    server.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
    drop(idle);
}

#[tokio::test]
async fn partiql_is_refused_as_an_unknown_operation() {
    let engine = engine();
    let select = engine.client().execute_statement().statement("SELECT * FROM lately WHERE pk = 'a'");
    let refused = select.send().await.unwrap_err().into_service_error();
    assert_eq!(refused.meta().code(), Some("UnknownOperationException"));
}

#[tokio::test]
async fn silent_connections_are_closed_and_their_permits_reused() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let bounds = ConnectionBounds { connections: 100, head: Duration::from_millis(300) };
    let service = service_fn(async |_| Ok::<_, Infallible>(Response::new(String::from("here"))));
    let server = tokio::spawn(connections::serve(listener, service, bounds, pending()));
    let mut silent = Vec::new();
    for number in 0..300 {
        let mut socket = TcpStream::connect(address).await.unwrap();
        // Some of them begin a request.
        if number % 3 == 0 {
            socket.write_all(b"GET / HTTP/1.1\r\nhost: loc").await.unwrap();
        }
        silent.push(socket);
    }
    // More connections than the bound are open. Each gets its turn, also this last one.
    let mut speaking = TcpStream::connect(address).await.unwrap();
    speaking.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    // It is closed as well when it sends no second request.
    speaking.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200") && answer.ends_with(b"here"));
    for mut socket in silent {
        let mut rest = Vec::new();
        // The server may reset a connection instead.
        drop(socket.read_to_end(&mut rest).await);
        assert!(!rest.starts_with(b"HTTP/1.1 200"));
    }
    server.abort();
}
