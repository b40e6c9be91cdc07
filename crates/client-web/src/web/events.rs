//! Events as JavaScript objects.

use super::number;
use crate::{PredictionRules, SchemaGame, VisibilityChanges};
use aether_client::{ClientEvent, EndReason};
use aether_wire::{Ack, Closing, Correction, Event, GameBody, Manifest, PlayerId, Possession, Vector2, Welcome};
use js_sys::{Array, Float64Array, Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::JsValue;

/// Converts an event to the form of the TypeScript SDK. A game event has its code and row; the SDK adds the names.
pub fn of<R: PredictionRules>(event: &ClientEvent, game: &SchemaGame<R>) -> JsValue {
    match event {
        ClientEvent::Joined { welcome, resumed } => {
            object("joined", &[("welcome", of_welcome(welcome)), ("isResumed", JsValue::from_bool(*resumed))])
        }
        ClientEvent::EntityEntered { tick, entity } => {
            object("enter", &[("tick", tick.0.into()), ("entity", number(*entity).into())])
        }
        ClientEvent::EntityLeft { tick, entity } => {
            object("leave", &[("tick", tick.0.into()), ("entity", number(*entity).into())])
        }
        ClientEvent::Possession(Possession { tick, entity }) => {
            object("possession", &[("tick", tick.0.into()), ("entity", number(*entity).into())])
        }
        ClientEvent::Game(event) => of_game(event, game),
        ClientEvent::Answer(Ack { seq, error: None }) => object("answer", &[("seq", seq.0.into())]),
        ClientEvent::Answer(Ack { seq, error: Some(error) }) => {
            let (code, text) = (error.code.name().into(), error.message.as_str().into());
            object("answer", &[("seq", seq.0.into()), ("code", code), ("text", text)])
        }
        ClientEvent::Error(notice) => {
            object("error", &[("code", notice.code.name().into()), ("text", notice.message.as_str().into())])
        }
        ClientEvent::Correction(Correction { entity, position, velocity, ack_seq }) => {
            let (position, velocity) = (of_vector(*position), of_vector(*velocity));
            let (entity, input_ack) = (number(*entity).into(), ack_seq.0.into());
            let entries = [("entity", entity), ("position", position), ("velocity", velocity), ("inputAck", input_ack)];
            object("correction", &entries)
        }
        ClientEvent::Cleared(tick) => object("cleared", &[("tick", tick.0.into())]),
        ClientEvent::Manifest(manifest) => object("manifest", &[("manifest", of_manifest(manifest))]),
        ClientEvent::Closing(closing) => of_closing(closing),
        ClientEvent::Lost => object("lost", &[]),
        ClientEvent::Closed(reason) => of_end(reason),
    }
}

/// Converts the entities that entered and left the view.
pub fn of_changes(changes: &VisibilityChanges) -> JsValue {
    let ids = |entities: &[aether_wire::EntityId]| -> JsValue {
        entities.iter().map(|entity| JsValue::from_f64(number(*entity))).collect::<Array>().into()
    };
    let (entered, left) = (ids(&changes.entered), ids(&changes.left));
    let entries = [
        ("tick", changes.tick.0.into()),
        ("inputAck", changes.input_ack.0.into()),
        ("entered", entered),
        ("left", left),
    ];
    object("snapshot", &entries)
}

fn of_game<R: PredictionRules>(event: &Event, game: &SchemaGame<R>) -> JsValue {
    let sender = event.sender.map_or(0, |PlayerId(player)| player).into();
    let GameBody::Packed { code, payload } = &event.body else { return JsValue::NULL };
    let row = game.events().get(usize::from(*code)).and_then(|layout| layout.unpack(payload));
    let content = match row {
        Some(row) => ("row", Float64Array::from(row.as_slice()).into()),
        None => ("bytes", Uint8Array::from(payload.as_slice()).into()),
    };
    let entries = [("tick", event.tick.0.into()), ("sender", sender), ("code", u32::from(*code).into()), content];
    object("message", &entries)
}

fn of_welcome(welcome: &Welcome) -> JsValue {
    let world = &welcome.world;
    let world = plain(&[
        ("min", of_vector(world.min)),
        ("max", of_vector(world.max)),
        ("interestRadius", world.interest_radius.into()),
    ]);
    let mut entries = vec![
        ("player", welcome.player.0.into()),
        ("room", welcome.room.0.as_str().into()),
        ("session", welcome.session.to_string().into()),
        ("connection", (welcome.connection.0 as f64).into()),
        ("roomCode", welcome.room_code.as_str().into()),
        ("tickHz", welcome.tick_hz.into()),
        ("snapshotHz", welcome.snapshot_hz.into()),
        ("serverTick", welcome.server_tick.0.into()),
        ("world", world),
        ("schema", format!("{:016x}", welcome.schema_hash.0).into()),
    ];
    if let Some(token) = &welcome.resume_token {
        entries.push(("resumeToken", token.reveal().into()));
    }
    plain(&entries)
}

fn of_manifest(manifest: &Manifest) -> JsValue {
    let mut entries = vec![
        ("version_server", manifest.version_server.as_str().into()),
        ("version_protocol", manifest.version_protocol.into()),
    ];
    let numbers = [
        ("tick_rate", manifest.tick_rate),
        ("tick_us", manifest.tick_us),
        ("clients_active", manifest.clients_active),
        ("rooms_active", manifest.rooms_active),
        ("entities_active", manifest.entities_active),
        ("uptime_s", manifest.uptime_s),
    ];
    entries.extend(numbers.into_iter().filter_map(|(name, number)| Some((name, number?.into()))));
    plain(&entries)
}

fn of_closing(closing: &Closing) -> JsValue {
    let entries = [
        ("reason", closing.reason.name().into()),
        ("text", closing.text.as_str().into()),
        ("deadlineMs", closing.deadline_ms.into()),
        ("mayResume", JsValue::from_bool(closing.may_resume)),
    ];
    object("closing", &entries)
}

fn of_end(reason: &EndReason) -> JsValue {
    let (reason, text) = match reason {
        EndReason::Left => ("left", "You left the room."),
        EndReason::ClosedByServer(closing) => (closing.reason.name(), closing.text.as_str()),
        EndReason::JoinRejected(notice) => (notice.code.name(), notice.message.as_str()),
        EndReason::UnknownSchema => ("unknown_schema", "The room did not send its schema, or it is invalid."),
        EndReason::TooManyEntities => ("too_many_entities", "The server sent more entities than the client accepts."),
        EndReason::InvalidRates => ("absurd_rates", "The server announced invalid tick or snapshot rates."),
    };
    object("ended", &[("reason", reason.into()), ("text", text.into())])
}

fn of_vector(vector: Vector2) -> JsValue {
    plain(&[("x", vector.x.into()), ("y", vector.y.into())])
}

fn object(kind: &str, entries: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    put(&object, "kind", &kind.into());
    entries.iter().for_each(|(name, value)| put(&object, name, value));
    object.into()
}

fn plain(entries: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    entries.iter().for_each(|(name, value)| put(&object, name, value));
    object.into()
}

fn put(object: &Object, name: &str, value: &JsValue) {
    // Cannot fail on a new object.
    let _ = Reflect::set(object, &name.into(), value);
}
