//! Operations of the socket, and frames of clients: bounded, and the same in both encodings.

use aether_messages::operation;
use aether_messages::prost::Message as _;
use aether_messages::realtime::envelope::Message;
use aether_messages::realtime::{Envelope, MatchDataSend, Pong, StatusFollow, UserPresence};
use aether_messages::socket::{
    CID_BYTES_MAX, FRAME_ELEMENTS_MAX, FrameError, NAMES, SocketAnswer as _, decode_json, decode_protobuf, name_of,
};
use std::collections::BTreeSet;

fn read(json: &str) -> Result<Envelope, FrameError> {
    decode_json(|| serde_json::from_str(json))
}

#[test]
fn names_are_unique_among_all_operations() {
    let unique: BTreeSet<_> = NAMES.iter().chain(operation::NAMES).collect();
    assert_eq!(unique.len(), NAMES.len() + operation::NAMES.len());
}

#[test]
fn every_message_that_clients_send_has_an_operation() {
    // The fields of the envelope that the protocol assigns to clients.
    let sent = "channel_join channel_leave channel_message_send channel_message_update channel_message_remove \
        match_create match_data_send match_join match_leave matchmaker_add matchmaker_remove rpc status_follow \
        status_unfollow status_update ping party_create party_join party_leave party_promote party_accept \
        party_remove party_close party_join_request_list party_matchmaker_add party_matchmaker_remove \
        party_data_send party_update";
    let mut names = BTreeSet::new();
    for field in sent.split_whitespace() {
        let envelope = read(&format!(r#"{{"{field}":{{}}}}"#)).expect(field);
        let name = name_of(&envelope.message.expect(field)).expect(field);
        assert_eq!(name.to_lowercase().trim_end_matches("func"), field.replace('_', ""));
        names.insert(name);
    }
    assert_eq!(names.len(), NAMES.len() + 1, "all operations, and functions");
    for field in "channel match match_data error status stream_data pong party notifications".split(' ') {
        let envelope = read(&format!(r#"{{"{field}":{{}}}}"#)).expect(field);
        assert_eq!(name_of(&envelope.message.expect(field)), None, "{field}");
    }
}

#[test]
fn answers_become_messages() {
    assert_eq!(Pong {}.into_message(), Some(Message::Pong(Pong {})));
    assert_eq!(aether_messages::Empty::default().into_message(), None);
}

#[test]
fn elements_and_cids_are_limited_in_both_encodings() {
    let follow = |count: usize| StatusFollow { user_ids: vec![String::new(); count], usernames: Vec::new() };
    let data = |count: usize| MatchDataSend { presences: vec![UserPresence::default(); count], ..Default::default() };
    for (count, is_allowed) in [(FRAME_ELEMENTS_MAX, true), (FRAME_ELEMENTS_MAX + 1, false)] {
        for message in [Message::StatusFollow(follow(count)), Message::MatchDataSend(data(count))] {
            let envelope = Envelope { cid: String::new(), message: Some(message) };
            let expected = if is_allowed { Ok(envelope.clone()) } else { Err(FrameError::TooManyElements) };
            assert_eq!(decode_protobuf(&envelope.encode_to_vec()), expected);
            assert_eq!(read(&serde_json::to_string(&envelope).expect("it has a JSON form")), expected);
        }
    }
    for (bytes, is_allowed) in [(CID_BYTES_MAX, true), (CID_BYTES_MAX + 1, false)] {
        let envelope = Envelope { cid: "x".repeat(bytes), message: None };
        assert_eq!(decode_protobuf(&envelope.encode_to_vec()).is_ok(), is_allowed);
    }
    assert!(matches!(decode_protobuf(&[0xff]), Err(FrameError::Malformed(_))));
    assert!(matches!(read("{"), Err(FrameError::Malformed(_))));
}
