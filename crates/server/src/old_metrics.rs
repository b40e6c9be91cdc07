//! Names that metrics had in version 0.1. They are served beside the new ones for one version, so that dashboards and
//! alerts can move.

use aether_metrics::Registry;

/// Old name, new name, and labels that only the old one has.
type OldName = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const OLD_NAMES: &[OldName] = &[
    ("aether_tick_seconds", "aether_tick_duration_seconds", &[]),
    ("aether_stage_seconds", "aether_tick_stage_duration_seconds", &[]),
    ("aether_tick_late_seconds", "aether_tick_lateness_seconds", &[]),
    ("aether_rooms", "aether_room_count", &[]),
    ("aether_players", "aether_player_count", &[]),
    ("aether_entities", "aether_entity_count", &[]),
    ("aether_connections", "aether_active_connections", &[]),
    ("aether_sessions", "aether_active_sessions", &[]),
    ("aether_drops_total", "aether_messages_dropped_total", &[]),
    ("aether_checkpoint_seconds", "aether_checkpoint_duration_seconds", &[]),
    ("aether_room_write_seconds", "aether_room_write_duration_seconds", &[]),
    ("aether_http_request_seconds", "aether_http_request_duration_seconds", &[]),
    ("aether_operation_seconds", "aether_operation_duration_seconds", &[]),
    ("aether_database_commit_seconds", "aether_database_commit_duration_seconds", &[]),
    ("aether_database_wait_seconds", "aether_database_queue_wait_seconds", &[]),
    ("aether_database_waiting", "aether_database_queue_length", &[]),
    ("aether_webhook_waiting", "aether_webhook_queue_length", &[]),
    ("aether_packets_total", "aether_messages_received_total", &[("direction", "in")]),
    ("aether_packets_total", "aether_messages_sent_total", &[("direction", "out")]),
    ("aether_bytes_total", "aether_bytes_received_total", &[("direction", "in")]),
    ("aether_bytes_total", "aether_bytes_sent_total", &[("direction", "out")]),
];

/// Serves metrics under their old names too.
pub fn keep(registry: &Registry) {
    for (old, new, labels) in OLD_NAMES {
        registry.keep_old_name(old, new, labels);
    }
}
