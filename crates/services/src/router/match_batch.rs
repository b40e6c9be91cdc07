//! Match data that was collected for a moment, encoded once for all members of a match.

use aether_framing::Framing;
use aether_messages::prost::Message as _;
use aether_messages::prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use aether_messages::realtime::{MatchData, UserPresence};
use aether_messages::socket::SocketFormat;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Number of `match_data` in an envelope.
const MATCH_DATA_TAG: u32 = 14;
/// Numbers of the fields of match data that differ between messages.
const OP_CODE_TAG: u32 = 3;
const DATA_TAG: u32 = 4;
const RELIABLE_TAG: u32 = 5;

/// Sender of match data: the fields that are the same in all its messages, encoded once.
#[derive(Debug)]
pub struct MatchSender {
    /// Fields of the match data as protobuf.
    protobuf: Vec<u8>,
    /// Start of the envelope as JSON, up to the presence.
    json: String,
}

/// Messages of a match, in their order.
#[derive(Debug, Default)]
pub struct MatchBatch {
    entries: Vec<BatchEntry>,
    /// Members that joined meanwhile, with the number of messages before, which they do not get.
    newcomers: Vec<(u32, usize)>,
    /// Data of all messages.
    data: Vec<u8>,
    /// Size as protobuf.
    bytes: usize,
    protobuf: OnceLock<Encoded>,
    json: OnceLock<Encoded>,
    framed: [OnceLock<Encoded>; Framing::ALL.len()],
}

/// Message to add to a batch.
#[derive(Clone, Copy, Debug)]
pub struct MatchMessage<'a> {
    /// Number of the member that sent it, who does not get it.
    pub member: u32,
    /// Op code.
    pub op_code: i64,
    /// Contents.
    pub data: &'a [u8],
    /// True if the sender asked for reliable delivery.
    pub is_reliable: bool,
}

#[derive(Debug)]
struct BatchEntry {
    sender: Arc<MatchSender>,
    member: u32,
    op_code: i64,
    data: Range<usize>,
    is_reliable: bool,
    /// Members that get it; all if there is none.
    receivers: Option<Box<[u32]>>,
}

/// All messages of a batch in one format.
#[derive(Debug, Default)]
struct Encoded {
    bytes: Vec<u8>,
    /// End of each message.
    ends: Vec<usize>,
}

impl MatchSender {
    /// Encodes the id of a match and the presence of a sender; the server has none.
    #[must_use]
    pub fn new(match_id: &str, presence: Option<&UserPresence>) -> MatchSender {
        let head = MatchData { match_id: match_id.to_owned(), presence: presence.cloned(), ..MatchData::default() };
        let quoted = serde_json::to_string(match_id).unwrap_or_default();
        let mut json = format!("{{\"match_data\":{{\"match_id\":{quoted}");
        if let Some(presence) = presence.and_then(|presence| serde_json::to_string(presence).ok()) {
            json.push_str(",\"presence\":");
            json.push_str(&presence);
        }
        MatchSender { protobuf: head.encode_to_vec(), json }
    }
}

impl MatchBatch {
    /// Adds a message.
    pub fn add(&mut self, sender: &Arc<MatchSender>, message: &MatchMessage<'_>, receivers: Option<Box<[u32]>>) {
        let start = self.data.len();
        self.data.extend_from_slice(message.data);
        let entry = BatchEntry {
            sender: Arc::clone(sender),
            member: message.member,
            op_code: message.op_code,
            data: start..self.data.len(),
            is_reliable: message.is_reliable,
            receivers,
        };
        self.bytes += entry.match_data_len() + key_len(MATCH_DATA_TAG) + 2;
        self.entries.push(entry);
    }

    /// Adds a member that has just joined. It does not get the messages so far.
    pub fn add_newcomer(&mut self, member: u32) {
        if !self.entries.is_empty() {
            self.newcomers.push((member, self.entries.len()));
        }
    }

    /// Returns true if there is no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Size of all messages as protobuf, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the messages for a member, as runs of message numbers.
    pub fn runs(&self, member: u32) -> impl Iterator<Item = Range<usize>> {
        let newcomer = self.newcomers.iter().find(|(newcomer, _)| *newcomer == member);
        let mut start = newcomer.map_or(0, |(_, before)| *before);
        let is_same_side = move |a: &BatchEntry, b: &BatchEntry| a.is_for(member) == b.is_for(member);
        self.entries[start..].chunk_by(is_same_side).filter_map(move |run| {
            let numbers = start..start + run.len();
            start = numbers.end;
            run.first().filter(|first| first.is_for(member)).map(|_| numbers)
        })
    }

    /// Returns the messages of a run, without frames.
    pub fn messages(&self, format: SocketFormat, run: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let encoded = match format {
            SocketFormat::Protobuf => self.protobuf.get_or_init(|| self.encode(BatchEntry::write_protobuf)),
            SocketFormat::Json => self.json.get_or_init(|| self.encode(BatchEntry::write_json)),
        };
        run.map(|number| encoded.run(&(number..number + 1)))
    }

    /// Returns a run of messages as protobuf in a framing that many connections share.
    pub fn framed(&self, framing: Framing, run: &Range<usize>) -> &[u8] {
        let encoded = self.framed[framing.number()].get_or_init(|| {
            let mut message = Vec::new();
            self.encode(|entry, data, out| {
                message.clear();
                entry.write_protobuf(data, &mut message);
                framing.append(out, &message);
            })
        });
        encoded.run(run)
    }

    fn encode(&self, mut write: impl FnMut(&BatchEntry, &[u8], &mut Vec<u8>)) -> Encoded {
        let mut encoded =
            Encoded { bytes: Vec::with_capacity(self.bytes), ends: Vec::with_capacity(self.entries.len()) };
        for entry in &self.entries {
            write(entry, &self.data[entry.data.clone()], &mut encoded.bytes);
            encoded.ends.push(encoded.bytes.len());
        }
        encoded
    }
}

impl Encoded {
    fn run(&self, run: &Range<usize>) -> &[u8] {
        let start = run.start.checked_sub(1).map_or(0, |before| self.ends[before]);
        run.end.checked_sub(1).map_or(&[], |last| &self.bytes[start..self.ends[last]])
    }
}

impl BatchEntry {
    fn is_for(&self, member: u32) -> bool {
        self.member != member && self.receivers.as_ref().is_none_or(|receivers| receivers.contains(&member))
    }

    /// Length of the match data as protobuf.
    fn match_data_len(&self) -> usize {
        let mut length = self.sender.protobuf.len();
        if self.op_code != 0 {
            length += key_len(OP_CODE_TAG) + encoded_len_varint(self.op_code.cast_unsigned());
        }
        if !self.data.is_empty() {
            length += key_len(DATA_TAG) + encoded_len_varint(self.data.len() as u64) + self.data.len();
        }
        if self.is_reliable {
            length += key_len(RELIABLE_TAG) + 1;
        }
        length
    }

    /// Appends the envelope as protobuf. Fields with their default value are left out.
    fn write_protobuf(&self, data: &[u8], out: &mut Vec<u8>) {
        encode_key(MATCH_DATA_TAG, WireType::LengthDelimited, out);
        encode_varint(self.match_data_len() as u64, out);
        out.extend_from_slice(&self.sender.protobuf);
        if self.op_code != 0 {
            encode_key(OP_CODE_TAG, WireType::Varint, out);
            encode_varint(self.op_code.cast_unsigned(), out);
        }
        if !data.is_empty() {
            encode_key(DATA_TAG, WireType::LengthDelimited, out);
            encode_varint(data.len() as u64, out);
            out.extend_from_slice(data);
        }
        if self.is_reliable {
            encode_key(RELIABLE_TAG, WireType::Varint, out);
            encode_varint(1, out);
        }
    }

    /// Appends the envelope as JSON. Fields with their default value are left out, as everywhere in the protocol.
    fn write_json(&self, data: &[u8], out: &mut Vec<u8>) {
        let mut text = self.sender.json.clone();
        if self.op_code != 0 {
            text.push_str(&format!(",\"op_code\":\"{}\"", self.op_code));
        }
        if !data.is_empty() {
            text.push_str(",\"data\":\"");
            STANDARD.encode_string(data, &mut text);
            text.push('"');
        }
        if self.is_reliable {
            text.push_str(",\"reliable\":true");
        }
        text.push_str("}}");
        out.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_messages::realtime::Envelope;
    use aether_messages::realtime::envelope::Message;

    fn presence() -> UserPresence {
        UserPresence {
            user_id: "u".to_owned(),
            session_id: "s".to_owned(),
            username: "Ann \"\n".to_owned(),
            ..Default::default()
        }
    }

    /// Returns a batch with the messages that it stands for.
    fn example() -> (MatchBatch, Vec<Envelope>) {
        let (ann, server) = (presence(), None::<UserPresence>);
        let mut batch = MatchBatch::default();
        let mut expected = Vec::new();
        let long = vec![7; 300];
        let cases: [(Option<&UserPresence>, i64, &[u8], bool); 5] = [
            (Some(&ann), 0, b"", false),
            (Some(&ann), 7, b"hello", true),
            (server.as_ref(), -1, &long, true),
            (Some(&ann), i64::MAX, b"\0", false),
            (Some(&ann), i64::MIN, b"x", true),
        ];
        for (presence, op_code, data, is_reliable) in cases {
            let sender = Arc::new(MatchSender::new("1.node", presence));
            batch.add(&sender, &MatchMessage { member: 1, op_code, data, is_reliable }, None);
            let match_data = MatchData {
                match_id: "1.node".to_owned(),
                presence: presence.cloned(),
                op_code,
                data: data.to_vec().into(),
                reliable: is_reliable,
            };
            expected.push(Envelope { cid: String::new(), message: Some(Message::MatchData(match_data)) });
        }
        (batch, expected)
    }

    #[test]
    fn both_formats_are_those_of_the_envelope() {
        let (batch, expected) = example();
        let all = 0..batch.len();
        let protobuf: Vec<Vec<u8>> = batch.messages(SocketFormat::Protobuf, all.clone()).map(<[u8]>::to_vec).collect();
        assert_eq!(protobuf, expected.iter().map(|envelope| envelope.encode_to_vec()).collect::<Vec<_>>());
        let json: Vec<String> = batch
            .messages(SocketFormat::Json, all.clone())
            .map(|text| String::from_utf8(text.to_vec()).unwrap())
            .collect();
        assert_eq!(json, expected.iter().map(|envelope| serde_json::to_string(envelope).unwrap()).collect::<Vec<_>>());
        for framing in Framing::ALL {
            let mut framed = Vec::new();
            protobuf.iter().for_each(|message| framing.append(&mut framed, message));
            assert_eq!(batch.framed(framing, &all), framed);
        }
    }

    #[test]
    fn a_member_gets_the_messages_of_others_that_are_for_it() {
        let sender = Arc::new(MatchSender::new("1.", None));
        let mut batch = MatchBatch::default();
        for (member, receiver) in [(1, None), (2, None), (2, Some(3)), (1, None)] {
            let receivers: Option<Box<[u32]>> = receiver.map(|receiver| Box::from([receiver]));
            batch.add(&sender, &MatchMessage { member, op_code: 1, data: b"x", is_reliable: true }, receivers);
        }
        let numbers = |member| batch.runs(member).map(|run| (run.start, run.end)).collect::<Vec<_>>();
        assert_eq!((numbers(1), numbers(2), numbers(3)), (vec![(1, 2)], vec![(0, 1), (3, 4)], vec![(0, 4)]));
    }
}
