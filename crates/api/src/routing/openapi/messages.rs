//! Descriptors of messages that extend the protocol, in the same form as those of the protocol.

mod moderation;
mod remote_value;
mod script;

use aether_messages::prost_types::field_descriptor_proto::{Label, Type};
use aether_messages::prost_types::{DescriptorProto, FieldDescriptorProto, MessageOptions};
use aether_services::PACKAGE;

/// Type of a field that is any JSON object.
pub(super) const JSON_OBJECT: &str = "aether.api.JsonObject";
/// Type of a field that is any JSON.
pub(super) const JSON_VALUE: &str = "aether.api.JsonValue";

/// Returns the package and its messages.
pub(super) fn extensions() -> (&'static str, Vec<DescriptorProto>) {
    let mut messages = accounts();
    messages.extend(profiles());
    messages.extend(admin());
    messages.extend(moderation::messages());
    messages.extend(remote_value::messages());
    messages.extend(script::messages());
    messages.extend(rooms());
    messages.extend(recordings());
    messages.extend(super::bracket_messages::brackets());
    (PACKAGE, messages)
}

fn accounts() -> Vec<DescriptorProto> {
    let account = || own_message("account", "AccountExternal");
    let entry = DescriptorProto {
        options: Some(MessageOptions { map_entry: Some(true), ..MessageOptions::default() }),
        ..message("VarsEntry", [text("key"), text("value")])
    };
    let vars = repeated(own_message("vars", "AccountExternal.VarsEntry"));
    let external = DescriptorProto { nested_type: vec![entry], ..message("AccountExternal", [text("token"), vars]) };
    let create = field("create", Type::Bool, "");
    vec![
        external,
        message("AccountExport", [json("document")]),
        message("AuthenticateExternalRequest", [text("provider"), account(), create, text("username")]),
        message("LinkExternalRequest", [text("provider"), account()]),
        message("RequestPasswordResetRequest", [text("email")]),
        message("ResetPasswordRequest", [text("code"), text("password")]),
        message("VerifyEmailRequest", [text("code")]),
    ]
}

fn profiles() -> Vec<DescriptorProto> {
    let (active, data) = (field("active", Type::Bool, ""), || json("data"));
    let (create_time, update_time) = (time("create_time"), time("update_time"));
    let profiles = repeated(own_message("profiles", "ShownProfile"));
    vec![
        message("ActiveProfile", [text("active")]),
        message("CreateProfileRequest", [text("id"), text("name"), data()]),
        message("ProfileFields", [text("name"), data()]),
        message("ProfileList", [text("active"), profiles]),
        message("ProfileRequest", [text("id")]),
        message("ShownProfile", [text("id"), text("name"), data(), active, create_time, update_time]),
        message("UpdateProfileRequest", [text("id"), own_message("profile", "ProfileFields")]),
    ]
}

fn admin() -> Vec<DescriptorProto> {
    let (player, role, reason) = (|| text("player"), || text("role"), || text("reason"));
    let (limit, cursor) = (|| field("limit", Type::Int32, ""), || text("cursor"));
    let (online, banned) = (field("online", Type::Bool, ""), field("banned", Type::Bool, ""));
    let names = [text("id"), text("username"), text("display_name"), role()];
    let states = [online, banned, text("ban_time"), text("create_time")];
    let session = [text("id"), text("state"), text("method"), text("address")];
    let times = [text("create_time"), text("seen_time"), text("end_time"), reason()];
    let entry = [text("actor"), player(), text("action"), text("outcome"), text("detail")];
    let counts = [field("count", Type::Int32, ""), text("first_time"), text("last_time")];
    vec![
        message("PlayerRequest", [player()]),
        message("PlayerRole", [role()]),
        message("SetPlayerRoleRequest", [player(), own_message("role", "PlayerRole")]),
        joined("ShownPlayer", names, states),
        message("ListPlayerSessionsRequest", [player(), limit()]),
        joined("ShownSession", session, times),
        message("PlayerSessionList", [repeated(own_message("sessions", "ShownSession"))]),
        message("ListAuditEntriesRequest", [limit(), cursor()]),
        joined("ShownAuditEntry", entry, counts),
        message("AuditEntryList", [repeated(own_message("entries", "ShownAuditEntry")), cursor()]),
    ]
}

fn rooms() -> Vec<DescriptorProto> {
    let number = |name| field(name, Type::Uint32, "");
    let flag = |name| field(name, Type::Bool, "");
    let limit = || field("limit", Type::Int32, "");
    vec![
        message("RoomRequest", [text("room")]),
        message("ListRoomsRequest", [text("state"), limit(), text("cursor")]),
        message("CreateRoomRequest", [text("type"), text("label"), flag("private"), flag("record")]),
        message(
            "ShownRoom",
            [
                text("id"),
                text("code"),
                text("type"),
                text("label"),
                text("state"),
                text("node"),
                number("epoch"),
                flag("private"),
                flag("durable"),
                flag("recorded"),
                number("players"),
                number("players_max"),
                number("entities"),
                number("tick"),
                number("tick_hz"),
                number("bytes"),
                text("create_time"),
                text("write_time"),
            ],
        ),
        message("RoomList", [repeated(own_message("rooms", "ShownRoom")), text("cursor")]),
        message(
            "ShownCheckpoint",
            [number("number"), number("tick"), number("players"), number("entities"), number("bytes"), text("time")],
        ),
        message(
            "RoomDetail",
            [own_message("room", "ShownRoom"), repeated(own_message("checkpoints", "ShownCheckpoint"))],
        ),
        message(
            "ListRoomEntitiesRequest",
            [text("room"), field("checkpoint", Type::Int32, ""), limit(), text("cursor")],
        ),
        message("ShownEntity", [text("id"), number("owner"), json("components")]),
        message(
            "RoomEntityList",
            [
                text("source"),
                number("tick"),
                number("total"),
                repeated(own_message("entities", "ShownEntity")),
                text("cursor"),
            ],
        ),
    ]
}

fn recordings() -> Vec<DescriptorProto> {
    let number = |name| field(name, Type::Uint32, "");
    let flag = |name| field(name, Type::Bool, "");
    vec![
        message("SignalData", [text("data")]),
        message("SignalRoomRequest", [text("room"), own_message("signal", "SignalData")]),
        message("NoRequest", []),
        message(
            "ShownRecording",
            [
                text("name"),
                text("room"),
                text("state"),
                number("first_tick"),
                number("last_tick"),
                number("bytes"),
                text("error"),
            ],
        ),
        message("RecordingList", [repeated(own_message("recordings", "ShownRecording")), text("folder")]),
        message("ShownDrain", [flag("draining"), number("seconds"), number("rooms"), number("players")]),
    ]
}

pub(super) fn joined<const A: usize, const B: usize>(
    name: &str,
    first: [FieldDescriptorProto; A],
    rest: [FieldDescriptorProto; B],
) -> DescriptorProto {
    DescriptorProto { field: first.into_iter().chain(rest).collect(), ..message(name, []) }
}

pub(super) fn message<const COUNT: usize>(name: &str, fields: [FieldDescriptorProto; COUNT]) -> DescriptorProto {
    DescriptorProto { name: Some(name.to_owned()), field: fields.into(), ..DescriptorProto::default() }
}

pub(super) fn text(name: &str) -> FieldDescriptorProto {
    field(name, Type::String, "")
}

fn time(name: &str) -> FieldDescriptorProto {
    field(name, Type::Message, ".google.protobuf.Timestamp")
}

pub(super) fn json(name: &str) -> FieldDescriptorProto {
    field(name, Type::Message, JSON_OBJECT)
}

fn json_value(name: &str) -> FieldDescriptorProto {
    field(name, Type::Message, JSON_VALUE)
}

pub(super) fn own_message(name: &str, message: &str) -> FieldDescriptorProto {
    field(name, Type::Message, &format!(".{PACKAGE}.{message}"))
}

pub(super) fn repeated(field: FieldDescriptorProto) -> FieldDescriptorProto {
    FieldDescriptorProto { label: Some(Label::Repeated.into()), ..field }
}

pub(super) fn field(name: &str, simple: Type, message: &str) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        r#type: Some(simple.into()),
        type_name: Some(message.to_owned()).filter(|message| !message.is_empty()),
        ..FieldDescriptorProto::default()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::schema::Definitions;
    use aether_messages::prost::Name;
    use aether_services::account::operation::{
        AccountExport, AccountExternal, AuthenticateExternalRequest, LinkExternalRequest, RequestPasswordResetRequest,
        ResetPasswordRequest, VerifyEmailRequest,
    };
    use aether_services::admin::operation::{
        AuditEntryList, ListAuditEntriesRequest, ListPlayerSessionsRequest, PlayerRequest, PlayerRole,
        PlayerSessionList, SetPlayerRoleRequest, ShownAuditEntry, ShownPlayer, ShownSession,
    };
    use aether_services::admin::room::{
        CreateRoomRequest, ListRoomEntitiesRequest, ListRoomsRequest, NoRequest, RecordingList, RoomDetail,
        RoomEntityList, RoomList, RoomRequest, ShownCheckpoint, ShownDrain, ShownEntity, ShownRecording, ShownRoom,
        SignalData, SignalRoomRequest,
    };
    use aether_services::profile::operation::{
        ActiveProfile, CreateProfileRequest, ProfileFields, ProfileList, ProfileRequest, ShownProfile,
        UpdateProfileRequest,
    };
    use serde::Serialize;
    use std::collections::{BTreeMap, BTreeSet};

    /// Asserts that a message with all fields set has the fields of its descriptor.
    #[track_caller]
    pub(in crate::routing::openapi) fn assert_agrees<M: Name + Serialize>(message: &M) {
        let json = serde_json::to_value(message).expect("messages serialize to JSON");
        let written: BTreeSet<&String> = json.as_object().expect("a message is an object").keys().collect();
        let fields = Definitions::read().fields(&M::full_name());
        assert_eq!(written, fields.iter().map(|field| &field.name).collect(), "{}", M::NAME);
    }

    #[test]
    fn definitions_of_rooms_agree_with_the_messages() {
        let text = || "text".to_owned();
        assert_agrees(&RoomRequest { room: text() });
        assert_agrees(&ListRoomsRequest { state: text(), limit: Some(1), cursor: text() });
        assert_agrees(&CreateRoomRequest { room_type: text(), label: text(), private: false, record: false });
        assert_agrees(&ShownRoom::default());
        assert_agrees(&RoomList::default());
        assert_agrees(&ShownCheckpoint::default());
        assert_agrees(&RoomDetail { room: Some(ShownRoom::default()), checkpoints: Vec::new() });
        assert_agrees(&ListRoomEntitiesRequest { room: text(), checkpoint: Some(1), limit: Some(1), cursor: text() });
        assert_agrees(&ShownEntity::default());
        assert_agrees(&RoomEntityList::default());
        assert_agrees(&SignalData::default());
        assert_agrees(&SignalRoomRequest { room: text(), signal: Some(SignalData::default()) });
        assert_agrees(&NoRequest::default());
        assert_agrees(&ShownRecording::default());
        assert_agrees(&RecordingList::default());
        assert_agrees(&ShownDrain::default());
    }

    #[test]
    fn definitions_agree_with_the_messages() {
        let text = || "text".to_owned();
        let account = AccountExternal { token: text(), vars: BTreeMap::from([(text(), text())]) };
        assert_agrees(&account);
        assert_agrees(&AuthenticateExternalRequest {
            provider: text(),
            account: Some(account.clone()),
            create: Some(false),
            username: text(),
        });
        assert_agrees(&LinkExternalRequest { provider: text(), account: Some(account) });
        assert_agrees(&RequestPasswordResetRequest { email: text() });
        assert_agrees(&ResetPasswordRequest { code: text(), password: text() });
        assert_agrees(&VerifyEmailRequest { code: text() });
        assert_agrees(&AccountExport::default());
        assert_agrees(&ActiveProfile::default());
        let data = Some("{}".to_owned());
        assert_agrees(&CreateProfileRequest { id: Some(text()), name: text(), data: data.clone() });
        let fields = ProfileFields { name: Some(text()), data };
        assert_agrees(&fields);
        assert_agrees(&ProfileList::default());
        assert_agrees(&ProfileRequest { id: text() });
        assert_agrees(&ShownProfile::default());
        assert_agrees(&PlayerRequest { player: text() });
        assert_agrees(&PlayerRole { role: text() });
        assert_agrees(&SetPlayerRoleRequest { player: text(), role: Some(PlayerRole { role: text() }) });
        assert_agrees(&ShownPlayer::default());
        assert_agrees(&ListPlayerSessionsRequest { player: text(), limit: Some(1) });
        assert_agrees(&ShownSession::default());
        assert_agrees(&PlayerSessionList::default());
        assert_agrees(&ListAuditEntriesRequest { limit: Some(1), cursor: text() });
        assert_agrees(&ShownAuditEntry::default());
        assert_agrees(&AuditEntryList::default());
        assert_agrees(&UpdateProfileRequest { id: text(), profile: Some(fields) });
    }
}
