//! Handshake over a Unix socket: passes the region to the other process.
//!
//! ```text
//! creator → attacher   magic 8 | version 8 | generation 8 | greeting length 8 | greeting     and the memory file
//! attacher → creator   magic 8 | version 8 | generation 8
//! ```

use crate::bell::Bell;
use crate::endpoint::RingEndpoint;
use crate::error::AttachError;
use crate::layout::{MAGIC, Side, VERSION, WORD_BYTES};
use crate::region::Region;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Longest greeting, in bytes.
pub const GREETING_BYTES_MAX: usize = 4_096;

/// Longest wait for a step of the handshake.
const STEP_TIME_MAX: Duration = Duration::from_secs(5);
/// Bytes of the creator's part before the greeting.
const OFFER_BYTES: usize = 4 * WORD_BYTES;
/// Bytes of the attacher's part.
const ANSWER_BYTES: usize = 3 * WORD_BYTES;

/// Result of [`attach`].
#[derive(Debug)]
pub struct Attached {
    /// Ends of the rings.
    pub endpoint: RingEndpoint,
    /// Bytes that the creator passed with the region.
    pub greeting: Vec<u8>,
    /// Number of the region.
    pub generation: u64,
}

/// Creates a region for the process at the other end of a socket and passes it on, with a greeting. Waits for its
/// answer, at most some seconds.
pub fn create(
    stream: UnixStream,
    ring_bytes: usize,
    generation: u64,
    greeting: &[u8],
) -> Result<RingEndpoint, AttachError> {
    if greeting.len() > GREETING_BYTES_MAX {
        return Err(AttachError::Greeting(greeting.len()));
    }
    prepare(&stream)?;
    let region = Region::create(ring_bytes, generation)?;
    let words = [MAGIC, VERSION, generation, greeting.len() as u64];
    let mut offer = words.map(u64::to_ne_bytes).concat();
    offer.extend_from_slice(greeting);
    send_with_file(&stream, &offer, &region).map_err(|error| AttachError::System("sending the region", error))?;
    let mut answer = [0; ANSWER_BYTES];
    (&stream).read_exact(&mut answer).map_err(|error| AttachError::System("reading the answer", error))?;
    check(&answer)?;
    if word(&answer, 2) != generation {
        return Err(AttachError::Handshake("the answer names another region"));
    }
    endpoint(region, stream, Side::Creator)
}

/// Gets the region of the process that listens on a socket. Waits at most some seconds.
pub fn attach(path: &Path) -> Result<Attached, AttachError> {
    let stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AttachError::NotListening(path.to_owned()),
        _ => AttachError::System("connect", error),
    })?;
    prepare(&stream)?;
    let read = |error| AttachError::System("reading the region", error);
    let (offer, file) = receive_with_file(&stream).map_err(read)?;
    check(&offer)?;
    let generation = word(&offer, 2);
    let length = usize::try_from(word(&offer, 3)).unwrap_or(usize::MAX);
    if length > GREETING_BYTES_MAX {
        return Err(AttachError::Handshake("the greeting is too long"));
    }
    let mut greeting = vec![0; length];
    (&stream).read_exact(&mut greeting).map_err(read)?;
    let region = Region::open(file.ok_or(AttachError::Handshake("there is no memory file"))?)?;
    if region.generation() != generation {
        return Err(AttachError::Handshake("the header names another region"));
    }
    let answer = [MAGIC, VERSION, generation].map(u64::to_ne_bytes).concat();
    (&stream).write_all(&answer).map_err(|error| AttachError::System("sending the answer", error))?;
    Ok(Attached { endpoint: endpoint(region, stream, Side::Attacher)?, greeting, generation })
}

/// Refuses processes of other users, and limits the time of the handshake.
fn prepare(stream: &UnixStream) -> Result<(), AttachError> {
    let failed = |error| AttachError::System("setting up the socket", error);
    stream.set_nonblocking(false).map_err(failed)?;
    stream.set_read_timeout(Some(STEP_TIME_MAX)).map_err(failed)?;
    stream.set_write_timeout(Some(STEP_TIME_MAX)).map_err(failed)?;
    let peer = rustix::net::sockopt::socket_peercred(stream).map_err(|error| failed(error.into()))?;
    if peer.uid != rustix::process::geteuid() {
        return Err(AttachError::OtherUser(peer.uid.as_raw()));
    }
    Ok(())
}

fn endpoint(region: Region, stream: UnixStream, side: Side) -> Result<RingEndpoint, AttachError> {
    let bell = Bell::new(stream).map_err(|error| AttachError::System("setting up the socket", error))?;
    Ok(RingEndpoint::new(region, bell, side))
}

fn check(part: &[u8]) -> Result<(), AttachError> {
    if word(part, 0) != MAGIC {
        return Err(AttachError::Handshake("it speaks another protocol"));
    }
    match word(part, 1) {
        VERSION => Ok(()),
        version => Err(AttachError::Version(version)),
    }
}

/// Word of a part of the handshake; 0 beyond its end.
fn word(part: &[u8], index: usize) -> u64 {
    part.as_chunks().0.get(index).copied().map_or(0, u64::from_ne_bytes)
}

fn send_with_file(mut stream: &UnixStream, bytes: &[u8], file: &impl AsFd) -> io::Result<()> {
    let files = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::Error::other("no space for the file"));
    }
    let sent = rustix::net::sendmsg(stream, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    stream.write_all(bytes.get(sent..).unwrap_or_default())
}

fn receive_with_file(mut stream: &UnixStream) -> io::Result<([u8; OFFER_BYTES], Option<OwnedFd>)> {
    let mut offer = [0; OFFER_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut offer)];
    let received = rustix::net::recvmsg(stream, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
    let mut file = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = message {
            file = files.last().or(file);
        }
    }
    if received == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    stream.read_exact(&mut offer[received..])?;
    Ok((offer, file))
}
