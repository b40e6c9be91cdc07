//! The definitions of messages of our own, in the form in which those of the protocol come.

use aether_messages::prost_types::field_descriptor_proto::{Label, Type};
use aether_messages::prost_types::{DescriptorProto, FieldDescriptorProto, MessageOptions};
use aether_services::account::operation::PACKAGE;

/// The package, and all messages in it.
pub(super) fn own() -> (&'static str, [DescriptorProto; 6]) {
    let account = || field("account", Type::Message, &format!(".{PACKAGE}.AccountExternal"));
    let vars = FieldDescriptorProto {
        label: Some(Label::Repeated.into()),
        ..field("vars", Type::Message, &format!(".{PACKAGE}.AccountExternal.VarsEntry"))
    };
    let entry = DescriptorProto {
        options: Some(MessageOptions { map_entry: Some(true), ..MessageOptions::default() }),
        ..message("VarsEntry", [text("key"), text("value")])
    };
    let external = DescriptorProto { nested_type: vec![entry], ..message("AccountExternal", [text("token"), vars]) };
    let create = field("create", Type::Bool, "");
    let messages = [
        external,
        message("AuthenticateExternalRequest", [text("provider"), account(), create, text("username")]),
        message("LinkExternalRequest", [text("provider"), account()]),
        message("RequestPasswordResetRequest", [text("email")]),
        message("ResetPasswordRequest", [text("code"), text("password")]),
        message("VerifyEmailRequest", [text("code")]),
    ];
    (PACKAGE, messages)
}

fn message<const COUNT: usize>(name: &str, fields: [FieldDescriptorProto; COUNT]) -> DescriptorProto {
    DescriptorProto { name: Some(name.to_owned()), field: fields.into(), ..DescriptorProto::default() }
}

fn text(name: &str) -> FieldDescriptorProto {
    field(name, Type::String, "")
}

fn field(name: &str, simple: Type, message: &str) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        r#type: Some(simple.into()),
        type_name: Some(message.to_owned()).filter(|message| !message.is_empty()),
        ..FieldDescriptorProto::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::Definitions;
    use aether_messages::prost::Name;
    use aether_services::account::operation::{
        AccountExternal, AuthenticateExternalRequest, LinkExternalRequest, RequestPasswordResetRequest,
        ResetPasswordRequest, VerifyEmailRequest,
    };
    use serde::Serialize;
    use std::collections::{BTreeMap, BTreeSet};

    /// Whether a message in which every field is set has the fields that its definition says.
    #[track_caller]
    fn assert_agrees<M: Name + Serialize>(message: &M) {
        let json = serde_json::to_value(message).expect("it is JSON");
        let written: BTreeSet<&String> = json.as_object().expect("a message is an object").keys().collect();
        let fields = Definitions::read().fields(&M::full_name());
        assert_eq!(written, fields.iter().map(|field| &field.name).collect(), "{}", M::NAME);
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
    }
}
