//! Chat and moderation: muted players do not speak, and reported messages are copied.

use super::{Moderated, moderated, report};
use crate::fixture::error_of;
use aether_services::chat::Channel;
use aether_services::moderation::{MESSAGE_BYTES_MAX, NewMute, NewReport};
use aether_services::router::{OpenSocket, PresenceMeta, SocketSession};
use aether_services::{GrpcCode, Services};
use std::sync::Arc;
use uuid::Uuid;

/// Joins a channel over a new socket.
async fn join(services: &Services, user: Uuid, channel: &Channel) -> OpenSocket {
    let session =
        SocketSession { session: Uuid::new_v4(), user, username: Arc::from(user.to_string()), node: Arc::from("n1") };
    let socket = services.router.open(session).expect("the session is new");
    let meta = PresenceMeta { persistence: true, ..PresenceMeta::default() };
    services.chat.join(socket.socket.session, user, channel, meta).await.expect("the room is open to all");
    socket
}

#[tokio::test]
async fn a_muted_player_neither_sends_nor_changes_messages_until_the_end() {
    for Moderated { services, fixture, .. } in moderated().await {
        let user = fixture.user().await;
        let channel = Channel::room("lobby").unwrap();
        let socket = join(&services, user, &channel).await;
        let session = socket.socket.session;
        let sent = services.chat.send(session, &channel, r#"{"text":"hello"}"#.to_owned()).await.unwrap();
        let mute = NewMute { user, seconds: Some(60), reason: String::new(), muted_by: Uuid::nil() };
        services.moderation.mute(mute).await.unwrap();
        let refused = error_of(services.chat.send(session, &channel, "{}".to_owned()).await);
        let expected = (GrpcCode::PermissionDenied, "You are muted until 2023-11-14T22:14:20Z.".to_owned());
        assert_eq!(refused, expected, "{}", fixture.name);
        assert_eq!(error_of(services.chat.update(session, &channel, sent.id, "{}".to_owned()).await), expected);
        assert!(services.chat.remove(session, &channel, sent.id).await.is_ok(), "own messages may be removed");
        fixture.clock.advance_ms(60_000);
        assert!(services.chat.send(session, &channel, "{}".to_owned()).await.is_ok(), "{}", fixture.name);
    }
}

#[tokio::test]
async fn messages_of_the_target_and_the_reporter_are_copied_as_they_were() {
    for Moderated { services, fixture, .. } in moderated().await {
        let (reporter, target, other) = (fixture.user().await, fixture.user().await, fixture.user().await);
        let channel = Channel::room("lobby").unwrap();
        let mut ids = Vec::new();
        let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(MESSAGE_BYTES_MAX));
        for (user, text) in [(target, r#"{"text":"insult"}"#), (reporter, "{}"), (other, "{}"), (target, &long)] {
            let socket = join(&services, user, &channel).await;
            let sent = services.chat.send(socket.socket.session, &channel, text.to_owned()).await.unwrap();
            ids.push(sent.id);
        }
        let mut messages: Vec<String> = ids.iter().map(Uuid::to_string).collect();
        messages.push(Uuid::new_v4().to_string());
        let new = NewReport { channel: channel.id().to_owned(), messages, ..report(target) };
        let filed = services.moderation.report(reporter, new).await.unwrap();
        services.chat.remove_stored(&channel, ids[0]).await.unwrap();
        let (found, _) = services.moderation.find_report(filed.id).await.unwrap();
        let copied = &found.statements[0].messages;
        let senders: Vec<Uuid> = copied.iter().map(|message| message.sender).collect();
        assert_eq!(senders, [target, reporter, Uuid::nil(), target, Uuid::nil()], "{}", fixture.name);
        assert_eq!(copied[0].text, r#"{"text":"insult"}"#, "it was removed after the report");
        assert_eq!((copied[2].text.as_str(), copied[3].text.len()), ("", MESSAGE_BYTES_MAX));
    }
}

#[tokio::test]
async fn only_members_of_a_channel_report_its_messages() {
    for Moderated { services, fixture, .. } in moderated().await {
        let (reporter, target, other) = (fixture.user().await, fixture.user().await, fixture.user().await);
        let direct = Channel::direct(reporter, target).unwrap();
        let socket = join(&services, target, &direct).await;
        let sent = services.chat.send(socket.socket.session, &direct, "{}".to_owned()).await.unwrap();
        let new = |channel: &str| NewReport {
            channel: channel.to_owned(),
            messages: vec![sent.id.to_string()],
            ..report(target)
        };
        let refused = error_of(services.moderation.report(other, new(direct.id())).await);
        assert_eq!(refused.0, GrpcCode::InvalidArgument, "{}", fixture.name);
        let group = Channel::group(Uuid::from_u128(5));
        assert_eq!(error_of(services.moderation.report(reporter, new(group.id())).await).0, GrpcCode::InvalidArgument);
        assert_eq!(error_of(services.moderation.report(reporter, new("???")).await).0, GrpcCode::InvalidArgument);
        let bad = NewReport { messages: vec!["one".to_owned()], ..new(direct.id()) };
        assert_eq!(error_of(services.moderation.report(reporter, bad).await).0, GrpcCode::InvalidArgument);
        assert_eq!(fixture.count("SELECT COUNT(*) FROM reports").await, 0);
        assert!(services.moderation.report(reporter, new(direct.id())).await.is_ok());
    }
}
