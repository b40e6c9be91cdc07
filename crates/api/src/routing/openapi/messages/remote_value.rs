//! Messages of remote values and storage indexes.

use super::{field, json_value, message, own_message, repeated, text};
use aether_messages::prost_types::field_descriptor_proto::Type;
use aether_messages::prost_types::{DescriptorProto, MessageOptions};

/// Returns the messages.
pub(super) fn messages() -> Vec<DescriptorProto> {
    let entry = DescriptorProto {
        options: Some(MessageOptions { map_entry: Some(true), ..MessageOptions::default() }),
        ..message("ValuesEntry", [text("key"), json_value("value")])
    };
    let values = repeated(own_message("values", "RemoteValueList.ValuesEntry"));
    let list = message("RemoteValueList", [values, text("hash"), field("unchanged", Type::Bool, "")]);
    let list = DescriptorProto { nested_type: vec![entry], ..list };
    let times = [text("create_time"), text("update_time")];
    let [created, updated] = times;
    let version = field("version", Type::Int32, "");
    vec![
        message(
            "ListStorageIndexRequest",
            [text("index"), text("query"), repeated(text("order")), field("limit", Type::Int32, ""), text("cursor")],
        ),
        message("ListRemoteValuesRequest", [repeated(text("keys")), text("hash")]),
        list,
        message("ListAllRemoteValuesRequest", [field("limit", Type::Int32, ""), text("cursor")]),
        message("RemoteValueRequest", [text("key")]),
        message("RemoteValueFields", [json_value("value"), json_value("rules")]),
        message("SetRemoteValueRequest", [text("key"), own_message("contents", "RemoteValueFields")]),
        message("ShownRemoteValue", [text("key"), json_value("value"), json_value("rules"), version, created, updated]),
        message("AllRemoteValueList", [repeated(own_message("values", "ShownRemoteValue")), text("cursor")]),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_agrees;
    use aether_services::admin::remote_value::{
        AllRemoteValueList, ListAllRemoteValuesRequest, RemoteValueFields, RemoteValueRequest, SetRemoteValueRequest,
        ShownRemoteValue,
    };
    use aether_services::admin::storage_index::ListStorageIndexRequest;
    use aether_services::remote_value::operation::{ListRemoteValuesRequest, RemoteValueList};

    #[test]
    fn definitions_of_remote_values_agree_with_the_messages() {
        let text = || "text".to_owned();
        assert_agrees(&ListRemoteValuesRequest { keys: vec![text()], hash: text() });
        assert_agrees(&RemoteValueList::default());
        assert_agrees(&ListStorageIndexRequest {
            index: text(),
            query: text(),
            order: vec![text()],
            limit: Some(1),
            cursor: text(),
        });
        assert_agrees(&ListAllRemoteValuesRequest { limit: Some(1), cursor: text() });
        assert_agrees(&RemoteValueRequest { key: text() });
        let contents = RemoteValueFields { value: Some("5".to_owned()), rules: Some("[]".to_owned()) };
        assert_agrees(&contents);
        assert_agrees(&SetRemoteValueRequest { key: text(), contents: Some(contents) });
        assert_agrees(&ShownRemoteValue::default());
        assert_agrees(&AllRemoteValueList::default());
    }
}
