//! A wire between a consumer and its producer, on which the answers can be held up.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// Forwards what comes in to one address; what comes back from there waits until the gate is opened.
pub struct Gate {
    at: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    open: Mutex<bool>,
    opened: Condvar,
    began_with: Mutex<Vec<Vec<u8>>>,
}

impl Gate {
    /// A closed gate before the apiRoot `root`. Its threads end with the test process.
    pub fn before(root: &str) -> Self {
        let to = root.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let gate = Gate { at: listener.local_addr().unwrap(), shared: Arc::default() };
        let shared = gate.shared.clone();
        thread::spawn(move || {
            for incoming in listener.incoming().map_while(Result::ok) {
                let Ok(outgoing) = TcpStream::connect(&to) else { continue };
                forward(incoming, outgoing, &shared);
            }
        });
        gate
    }

    /// The apiRoot to call.
    pub fn api_root(&self) -> String {
        format!("http://{}", self.at)
    }

    /// Lets answers through.
    pub fn open(&self) {
        *self.shared.open.lock().unwrap() = true;
        self.shared.opened.notify_all();
    }

    /// The first bytes of each connection.
    pub fn began_with(&self) -> Vec<Vec<u8>> {
        self.shared.began_with.lock().unwrap().clone()
    }
}

impl Shared {
    fn wait(&self) {
        let open = self.open.lock().unwrap();
        drop(self.opened.wait_while(open, |open| !*open).unwrap());
    }
}

fn forward(incoming: TcpStream, outgoing: TcpStream, shared: &Arc<Shared>) {
    let _ = (incoming.set_nodelay(true), outgoing.set_nodelay(true));
    let (mut from, mut to) = (incoming.try_clone().unwrap(), outgoing.try_clone().unwrap());
    let there = shared.clone();
    thread::spawn(move || {
        let mut first = vec![0; 24];
        if from.read_exact(&mut first).is_ok() && to.write_all(&first).is_ok() {
            there.began_with.lock().unwrap().push(first);
            let _ = std::io::copy(&mut from, &mut to);
        }
        let _ = to.shutdown(Shutdown::Write);
    });
    let (mut from, mut to, back) = (outgoing, incoming, shared.clone());
    thread::spawn(move || {
        back.wait();
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}
