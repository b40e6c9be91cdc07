//! Messages of scripts.

use super::{field, message, own_message, repeated, text};
use aether_messages::prost_types::DescriptorProto;
use aether_messages::prost_types::field_descriptor_proto::Type;

/// Returns the messages.
pub(super) fn messages() -> Vec<DescriptorProto> {
    let number = |name| field(name, Type::Uint32, "");
    let modules = repeated(own_message("modules", "ShownModule"));
    let functions = repeated(own_message("functions", "ShownScriptFunction"));
    let error = own_message("error", "ShownScriptError");
    vec![
        message("ShownModule", [text("name"), number("bytes")]),
        message("ShownScriptFunction", [text("kind"), text("name")]),
        message("ShownScriptError", [text("module"), number("line"), text("message"), text("time")]),
        message("ScriptList", [modules, functions, error, text("load_time"), number("loads")]),
        message("ScriptReload", [number("modules"), number("functions"), number("loads")]),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_agrees;
    use aether_services::admin::script::{
        ScriptList, ScriptReload, ShownModule, ShownScriptError, ShownScriptFunction,
    };

    #[test]
    fn definitions_of_scripts_agree_with_the_messages() {
        assert_agrees(&ShownModule::default());
        assert_agrees(&ShownScriptFunction::default());
        assert_agrees(&ShownScriptError::default());
        assert_agrees(&ScriptList::default());
        assert_agrees(&ScriptReload::default());
    }
}
