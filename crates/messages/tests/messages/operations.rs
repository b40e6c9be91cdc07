//! The table of operations.

use std::collections::BTreeSet;

use aether_messages::{
    Empty,
    api::{StorageObjectAcks, WriteStorageObjectsRequest},
    operation::{Event, GetAccount, NAMES, Operation, RpcFunc, WriteStorageObjects},
    prost::Message,
};

#[test]
fn every_name_is_unique() {
    assert_eq!(NAMES.iter().collect::<BTreeSet<_>>().len(), NAMES.len());
    assert_eq!(NAMES.len(), 84);
}

#[test]
fn an_operation_knows_its_name_request_and_answer() {
    fn request_and_answer<O: Operation<Request = WriteStorageObjectsRequest, Answer = StorageObjectAcks>>() {
        assert_eq!(O::NAME, "WriteStorageObjects");
        assert!(NAMES.contains(&O::NAME));
    }
    request_and_answer::<WriteStorageObjects>();
}

#[test]
fn requests_and_answers_can_be_handled_generically() {
    fn defaults<O: Operation>() -> String {
        assert!(O::Answer::decode(&O::Answer::default().encode_to_vec()[..]).is_ok());
        let request: O::Request = serde_json::from_str("{}").unwrap();
        serde_json::to_string(&request).unwrap()
    }
    assert_eq!(defaults::<GetAccount>(), "{}");
    assert_eq!(defaults::<RpcFunc>(), "{}");
    assert_eq!(defaults::<Event>(), "{}");
}

#[test]
fn the_empty_message_has_no_contents() {
    assert_eq!(serde_json::to_string(&Empty {}).unwrap(), "{}");
    assert!(Empty {}.encode_to_vec().is_empty());
    assert_eq!(Empty::decode(&[][..]).unwrap(), Empty {});
}
