//! JSON schemas of messages.

use super::messages;
use aether_messages::prost::Message as _;
use aether_messages::prost_types::field_descriptor_proto::{Label, Type};
use aether_messages::prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use aether_messages::{DESCRIPTORS, ELEMENTS_MAX};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Field numbers of descriptors, which form the paths of comments.
const MESSAGES_OF_FILE: i32 = 4;
const FIELDS_OF_MESSAGE: i32 = 2;
const MESSAGES_OF_MESSAGE: i32 = 3;

/// Message descriptors, and the names of those that were referenced.
pub(super) struct Definitions {
    /// Messages by full name.
    messages: BTreeMap<String, Definition>,
    enums: BTreeMap<String, EnumDescriptorProto>,
    used: BTreeSet<String>,
}

struct Definition {
    message: DescriptorProto,
    comment: String,
    /// Comments in the order of the fields.
    field_comments: Vec<String>,
}

/// A field of a message.
pub(super) struct Field {
    pub name: String,
    pub schema: Value,
}

impl Field {
    /// Returns true for a message, false for a scalar or a list.
    pub fn is_message(&self) -> bool {
        self.schema.get("$ref").is_some()
    }
}

/// Returns a message without fields.
fn empty_message(name: &str) -> DescriptorProto {
    DescriptorProto { name: Some(name.to_owned()), ..DescriptorProto::default() }
}

/// Comments of one file, by the path of the element they belong to.
type Comments = BTreeMap<Vec<i32>, String>;

impl Definitions {
    /// Reads all descriptors.
    pub fn read() -> Definitions {
        let files = FileDescriptorSet::decode(DESCRIPTORS).expect("the descriptors are part of the build");
        let mut definitions = Definitions { messages: BTreeMap::new(), enums: BTreeMap::new(), used: BTreeSet::new() };
        for file in files.file {
            let comments: Comments =
                file.source_code_info.iter().flat_map(|info| &info.location).map(comment).collect();
            let package = file.package.unwrap_or_default();
            for (index, message) in (0..).zip(file.message_type) {
                definitions.add(&package, message, vec![MESSAGES_OF_FILE, index], &comments);
            }
            for definition in file.enum_type {
                definitions.enums.insert(format!("{package}.{}", definition.name()), definition);
            }
        }
        let (package, messages) = messages::extensions();
        for message in messages {
            definitions.add(package, message, Vec::new(), &Comments::new());
        }
        // The empty message is not part of the descriptor files.
        definitions.add("google.protobuf", empty_message("Empty"), Vec::new(), &Comments::new());
        definitions
    }

    fn add(&mut self, outer: &str, message: DescriptorProto, path: Vec<i32>, comments: &Comments) {
        let name = format!("{outer}.{}", message.name());
        for (index, nested) in (0..).zip(&message.nested_type) {
            let path = [&path[..], &[MESSAGES_OF_MESSAGE, index]].concat();
            self.add(&name, nested.clone(), path, comments);
        }
        for nested in &message.enum_type {
            self.enums.insert(format!("{name}.{}", nested.name()), nested.clone());
        }
        let of = |path: &[i32]| comments.get(path).cloned().unwrap_or_default();
        let field = |index| of(&[&path[..], &[FIELDS_OF_MESSAGE, index]].concat());
        let field_comments = (0..).zip(&message.field).map(|(index, _)| field(index)).collect();
        self.messages.insert(name, Definition { comment: of(&path), field_comments, message });
    }

    /// Returns the fields of a message.
    pub fn fields(&mut self, message: &str) -> Vec<Field> {
        let definition = &self.messages[message];
        let (fields, comments) = (definition.message.field.clone(), definition.field_comments.clone());
        let field = |(field, comment): (FieldDescriptorProto, String)| {
            let mut schema = self.field(&field);
            if !comment.is_empty() {
                schema["description"] = json!(comment);
            }
            Field { name: field.name().to_owned(), schema }
        };
        fields.into_iter().zip(comments).map(field).collect()
    }

    /// Returns a reference to the schema of a message.
    pub fn reference(&mut self, message: &str) -> Value {
        self.used.insert(message.to_owned());
        json!({ "$ref": format!("#/components/schemas/{}", short_name(message)) })
    }

    /// Returns the schemas of all referenced messages, and of the messages in them.
    pub fn schemas(mut self) -> Map<String, Value> {
        let mut schemas = Map::new();
        while let Some(message) = self.used.iter().find(|message| !schemas.contains_key(short_name(message))).cloned() {
            let fields: Map<String, Value> =
                self.fields(&message).into_iter().map(|field| (field.name, field.schema)).collect();
            let mut schema = json!({ "type": "object", "properties": fields });
            let comment = &self.messages[&message].comment;
            if !comment.is_empty() {
                schema["description"] = json!(comment);
            }
            schemas.insert(short_name(&message).to_owned(), schema);
        }
        schemas
    }

    fn field(&mut self, field: &FieldDescriptorProto) -> Value {
        if field.label() != Label::Repeated {
            return self.value(field);
        }
        let entry = self.messages.get(type_name(field)).map(|definition| &definition.message);
        let entry = entry.filter(|message| message.options.as_ref().is_some_and(|options| options.map_entry()));
        match entry.and_then(|entry| entry.field.get(1)).cloned() {
            Some(value) => {
                let value = self.value(&value);
                json!({ "type": "object", "additionalProperties": value, "maxProperties": ELEMENTS_MAX })
            }
            None => json!({ "type": "array", "items": self.value(field), "maxItems": ELEMENTS_MAX }),
        }
    }

    fn value(&mut self, field: &FieldDescriptorProto) -> Value {
        match field.r#type() {
            Type::Message | Type::Group => match type_name(field) {
                "google.protobuf.Timestamp" => json!({ "type": "string", "format": "date-time" }),
                "google.protobuf.BoolValue" => scalar(Type::Bool),
                "google.protobuf.StringValue" => scalar(Type::String),
                "google.protobuf.Int32Value" => scalar(Type::Int32),
                "google.protobuf.Int64Value" => scalar(Type::Int64),
                "google.protobuf.UInt32Value" => scalar(Type::Uint32),
                messages::JSON_VALUE => json!({}),
                messages::JSON_OBJECT => json!({ "type": "object", "additionalProperties": true }),
                message => self.reference(message),
            },
            Type::Enum => {
                let definition = &self.enums[type_name(field)];
                let numbers: Vec<i32> = definition.value.iter().map(|value| value.number()).collect();
                let names: Vec<String> =
                    definition.value.iter().map(|value| format!("{} {}", value.number(), value.name())).collect();
                json!({ "type": "integer", "enum": numbers, "description": names.join(", ") })
            }
            simple => scalar(simple),
        }
    }
}

/// Returns the schema of a scalar.
fn scalar(simple: Type) -> Value {
    match simple {
        Type::Bool => json!({ "type": "boolean" }),
        Type::Double | Type::Float => json!({ "type": "number" }),
        Type::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
        Type::Int32 | Type::Sint32 | Type::Sfixed32 => {
            json!({ "type": "integer", "format": "int32", "minimum": i32::MIN, "maximum": i32::MAX })
        }
        Type::Uint32 | Type::Fixed32 => {
            json!({ "type": "integer", "format": "uint32", "minimum": 0, "maximum": u32::MAX })
        }
        Type::Int64 | Type::Sint64 | Type::Sfixed64 => {
            json!({ "type": "string", "format": "int64", "pattern": "^-?[0-9]{1,19}$" })
        }
        Type::Uint64 | Type::Fixed64 => json!({ "type": "string", "format": "uint64", "pattern": "^[0-9]{1,20}$" }),
        Type::String | Type::Message | Type::Group | Type::Enum => json!({ "type": "string" }),
    }
}

/// Returns the full name of a field's type, without the leading dot.
fn type_name(field: &FieldDescriptorProto) -> &str {
    field.type_name().trim_start_matches('.')
}

/// Returns the name of a message without its package.
fn short_name(message: &str) -> &str {
    message.find(|letter: char| letter.is_ascii_uppercase()).map_or(message, |start| &message[start..])
}

/// Returns the path and the comment of an element, on one line.
fn comment(location: &aether_messages::prost_types::source_code_info::Location) -> (Vec<i32>, String) {
    let words: Vec<&str> = location.leading_comments().split_whitespace().collect();
    (location.path.clone(), words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schemas_of(message: &str) -> Map<String, Value> {
        let mut definitions = Definitions::read();
        definitions.reference(message);
        definitions.schemas()
    }

    #[test]
    fn schemas_describe_the_json() {
        let schemas = schemas_of("nakama.api.LeaderboardRecordList");
        let record = &schemas["LeaderboardRecord"]["properties"];
        assert_eq!(record["score"]["type"], "string", "64 bits");
        assert_eq!(record["num_score"]["type"], "integer");
        assert_eq!(record["username"]["type"], "string", "a bare value");
        assert_eq!(record["create_time"]["format"], "date-time");
        let list = &schemas["LeaderboardRecordList"]["properties"];
        assert_eq!(list["records"]["items"]["$ref"], "#/components/schemas/LeaderboardRecord");
    }

    #[test]
    fn maps_enums_and_nested_messages_are_described() {
        let schemas = schemas_of("nakama.api.WriteLeaderboardRecordRequest");
        let write = &schemas["WriteLeaderboardRecordRequest.LeaderboardRecordWrite"]["properties"];
        assert_eq!(write["operator"]["enum"], json!([0, 1, 2, 3, 4]));
        let schemas = schemas_of("nakama.api.AccountDevice");
        assert_eq!(schemas["AccountDevice"]["properties"]["vars"]["additionalProperties"]["type"], "string");
    }

    #[test]
    fn comments_of_messages_are_descriptions() {
        let schemas = schemas_of("nakama.api.User");
        assert_eq!(schemas["User"]["description"], "Public data of a user.");
    }
}
