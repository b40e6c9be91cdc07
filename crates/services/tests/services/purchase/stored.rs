//! Stored purchases, on every kind of database.

use crate::fixture::{Fixture, START_MS, error_of, fixtures};
use aether_services::purchase::{
    PurchaseProvider, Purchases, Receipt, Shop, ValidateFuture, ValidatedPurchase, ValidatedSubscription,
};
use aether_services::{GrpcCode, ServiceError};
use tokio::task::JoinSet;
use uuid::Uuid;

/// Shop whose receipts list the purchases: `id at, id at`.
struct Market(Shop);

impl PurchaseProvider for Market {
    fn shop(&self) -> Shop {
        self.0
    }

    fn purchases<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, Vec<ValidatedPurchase>> {
        let bought = receipt.text.split(", ").map(|one| {
            let (id, at) = one.split_once(' ').ok_or(ServiceError::invalid("no"))?;
            Ok(ValidatedPurchase {
                product_id: "gems".to_owned(),
                transaction_id: id.to_owned(),
                purchased_at: at.parse().map_err(|_| ServiceError::invalid("no"))?,
                response: r#"{"a":1}"#.to_owned(),
                ..ValidatedPurchase::default()
            })
        });
        let bought = bought.collect::<Result<Vec<_>, ServiceError>>();
        Box::pin(async { bought })
    }

    fn subscription<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, ValidatedSubscription> {
        let mut words = receipt.text.split(' ').map(str::to_owned);
        let mut word = move || words.next().unwrap_or_default();
        let subscribed = ValidatedSubscription {
            original_transaction_id: word(),
            product_id: word(),
            purchased_at: word().parse().unwrap_or(0),
            expires_at: word().parse().unwrap_or(0),
            response: "{}".to_owned(),
            ..ValidatedSubscription::default()
        };
        Box::pin(async { Ok(subscribed) })
    }
}

fn purchases(fixture: &Fixture) -> Purchases {
    let purchases = Purchases::new(fixture.store.clone(), fixture.clock.clone());
    purchases.with_provider(Market(Shop::Apple)).with_provider(Market(Shop::Google))
}

fn receipt(text: &str) -> Receipt {
    Receipt { text: text.to_owned(), signature: String::new() }
}

#[tokio::test]
async fn a_purchase_counts_once_for_the_first_user() {
    for fixture in fixtures().await {
        let (purchases, ann, ben) = (purchases(&fixture), fixture.user().await, fixture.user().await);
        let first = purchases.validate(ann, Shop::Apple, receipt("b 1, a 2"), true).await.expect(fixture.name);
        let seen: Vec<_> = first.iter().map(|one| (one.bought.transaction_id.as_str(), one.seen_before)).collect();
        assert_eq!(seen, [("b", false), ("a", false)]);
        fixture.clock.advance_ms(7);
        let again = purchases.validate(ann, Shop::Apple, receipt("b 1, c 3"), true).await.expect(fixture.name);
        assert_eq!(again.iter().map(|one| one.seen_before).collect::<Vec<_>>(), [true, false]);
        let times = again[0].times.expect("it is kept");
        assert_eq!((times.created_at, times.updated_at), (START_MS, START_MS + 7));
        let stolen = error_of(purchases.validate(ben, Shop::Apple, receipt("d 4, a 2"), true).await);
        assert_eq!(stolen, (GrpcCode::FailedPrecondition, "The receipt was used by another account.".to_owned()));
        assert_eq!(
            error_of(purchases.purchase("d").await).0,
            GrpcCode::NotFound,
            "{}: nothing is half done",
            fixture.name
        );
        purchases.validate(ben, Shop::Google, receipt("a 2"), true).await.expect("another shop's ids are others");
        assert_eq!(purchases.purchase("a").await.expect(fixture.name).user, ann);
        let nobody = purchases.validate(Uuid::new_v4(), Shop::Apple, receipt("e 1"), true).await;
        assert_eq!(error_of(nobody).0, GrpcCode::NotFound);
    }
}

#[tokio::test]
async fn purchases_without_persist_are_not_stored() {
    for fixture in fixtures().await {
        let (purchases, ann) = (purchases(&fixture), fixture.user().await);
        for _ in 0..2 {
            let found = purchases.validate(ann, Shop::Apple, receipt("a 1"), false).await.expect(fixture.name);
            assert_eq!((found[0].times, found[0].seen_before), (None, false));
        }
        purchases.validate_subscription(ann, Shop::Apple, receipt("a gems 1 2"), false).await.expect(fixture.name);
        assert_eq!(fixture.count("SELECT count(*) FROM purchases").await, 0);
        assert_eq!(fixture.count("SELECT count(*) FROM subscriptions").await, 0);
    }
}

#[tokio::test]
async fn a_shop_that_is_not_configured_is_named() {
    for fixture in fixtures().await {
        let (purchases, ann) = (purchases(&fixture), fixture.user().await);
        let rejected = error_of(purchases.validate(ann, Shop::Huawei, receipt("a 1"), true).await);
        assert_eq!(rejected.0, GrpcCode::FailedPrecondition);
        assert!(rejected.1.contains("Huawei"), "{}", rejected.1);
    }
}

#[tokio::test]
async fn a_list_can_be_read_backward() {
    for fixture in fixtures().await {
        let (purchases, ann) = (purchases(&fixture), fixture.user().await);
        purchases.validate(ann, Shop::Apple, receipt("a 1, b 2, c 2, d 5"), true).await.expect(fixture.name);
        purchases.validate(ann, Shop::Google, receipt("c 2"), true).await.expect(fixture.name);
        for text in ["s1 gems 1 10", "s2 gold 3 10", "s3 gold 2 10"] {
            purchases.validate_subscription(ann, Shop::Apple, receipt(text), true).await.expect(fixture.name);
        }
        let read = async |limit, cursor: &str| {
            let page = purchases.purchases(ann, limit, cursor).await.expect(fixture.name);
            let ids: String = page.entries.iter().map(|one| one.bought.transaction_id.as_str()).collect();
            (ids, page.cursor, page.prev_cursor)
        };
        let (ids, next, prev) = read(2, "").await;
        assert_eq!((ids.as_str(), prev.as_str()), ("dc", ""), "{}: nothing is before the beginning", fixture.name);
        let (ids, next, prev) = read(2, &next).await;
        assert_eq!(ids, "cb", "{}", fixture.name);
        let (first, again, none) = read(2, &prev).await;
        assert_eq!((first.as_str(), none.as_str()), ("dc", ""), "{}", fixture.name);
        assert_eq!(read(2, &again).await.0, "cb", "and forward again");
        let (ids, end, prev) = read(2, &next).await;
        assert_eq!((ids.as_str(), end.as_str()), ("a", ""), "{}", fixture.name);
        let (middle, _, before) = read(1, &prev).await;
        assert_eq!(middle, "b", "{}: the nearest, not the first", fixture.name);
        assert_eq!(read(100, &before).await.0, "dcc", "{}", fixture.name);

        let first = purchases.subscriptions(ann, 2, "").await.expect(fixture.name);
        let last = purchases.subscriptions(ann, 2, &first.cursor).await.expect(fixture.name);
        assert_eq!((last.entries.len(), last.cursor.as_str()), (1, ""));
        assert_eq!(purchases.subscriptions(ann, 2, &last.prev_cursor).await.expect(fixture.name), first);
    }
}

#[tokio::test]
async fn lists_are_paged_newest_first() {
    for fixture in fixtures().await {
        let (purchases, ann, ben) = (purchases(&fixture), fixture.user().await, fixture.user().await);
        purchases.validate(ann, Shop::Apple, receipt("a 1, b 2, c 2, d 5"), true).await.expect(fixture.name);
        purchases.validate(ann, Shop::Google, receipt("c 2"), true).await.expect(fixture.name);
        purchases.validate(ben, Shop::Apple, receipt("x 9"), true).await.expect(fixture.name);
        for text in ["s1 gems 1 10", "s2 gold 3 10", "s3 gold 2 10"] {
            purchases.validate_subscription(ann, Shop::Apple, receipt(text), true).await.expect(fixture.name);
        }
        for limit in [1, 2, 3, 100] {
            let (mut found, mut cursor) = (String::new(), String::new());
            loop {
                let page = purchases.purchases(ann, limit, &cursor).await.expect(fixture.name);
                found.extend(page.entries.iter().map(|one| one.bought.transaction_id.as_str()));
                cursor = page.cursor;
                if cursor.is_empty() {
                    break;
                }
            }
            assert_eq!(found, "dccba", "{}, {limit} at a time", fixture.name);
            loop {
                let page = purchases.subscriptions(ann, limit, &cursor).await.expect(fixture.name);
                found.extend(page.entries.iter().map(|one| one.subscribed.original_transaction_id.as_str()));
                cursor = page.cursor;
                if cursor.is_empty() {
                    break;
                }
            }
            assert_eq!(found, "dccbas2s3s1", "{}, {limit} at a time", fixture.name);
        }
        for (limit, cursor) in [(0, ""), (-1, ""), (1_001, ""), (10, "x"), (10, "e30")] {
            assert_eq!(error_of(purchases.purchases(ann, limit, cursor).await).0, GrpcCode::InvalidArgument);
            assert_eq!(error_of(purchases.subscriptions(ann, limit, cursor).await).0, GrpcCode::InvalidArgument);
        }
    }
}

#[tokio::test]
async fn a_renewed_subscription_is_updated_and_stays_with_its_user() {
    for fixture in fixtures().await {
        let (purchases, ann, ben) = (purchases(&fixture), fixture.user().await, fixture.user().await);
        let later = START_MS + 100;
        let subscribe =
            async |user, text: String| purchases.validate_subscription(user, Shop::Apple, receipt(&text), true).await;
        assert!(!subscribe(ann, format!("s1 gems 1 {START_MS}")).await.expect(fixture.name).is_active);
        fixture.clock.advance_ms(50);
        let renewed = subscribe(ann, format!("s1 gems {START_MS} {later}")).await.expect(fixture.name);
        let times = renewed.times.expect("it is kept");
        assert_eq!((renewed.is_active, times.created_at, times.updated_at), (true, START_MS, START_MS + 50));
        assert_eq!(error_of(subscribe(ben, format!("s1 gems 1 {later}")).await).0, GrpcCode::FailedPrecondition);
        subscribe(ann, "s0 gems 1 2".to_owned()).await.expect(fixture.name);
        let found = purchases.subscription(ann, "gems").await.expect(fixture.name);
        assert_eq!(found, renewed, "of several, the one that ends last");
        assert_eq!(error_of(purchases.subscription(ben, "gems").await).0, GrpcCode::NotFound);
        assert_eq!(error_of(purchases.subscription(ann, "").await).0, GrpcCode::InvalidArgument);
        assert_eq!(error_of(purchases.subscription(ann, "a\0").await).0, GrpcCode::InvalidArgument);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_concurrent_users_gets_a_receipt() {
    for fixture in fixtures().await {
        let mut users = Vec::new();
        for _ in 0..4 {
            users.push(fixture.user().await);
        }
        let purchases = purchases(&fixture);
        let mut senders = JoinSet::new();
        for number in 0..40_usize {
            let (purchases, user) = (purchases.clone(), users[number % 4]);
            let text = if number % 2 == 0 { "a 1, b 2, c 3" } else { "c 3, b 2, a 1" };
            senders.spawn(async move { purchases.validate(user, Shop::Apple, receipt(text), true).await });
        }
        let outcomes = senders.join_all().await;
        let found: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
        let rejected = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        assert_eq!(found.len(), 10, "{}: all of one account, none of the others", fixture.name);
        assert!(
            rejected.clone().all(|error| error.code == GrpcCode::FailedPrecondition),
            "{:?}",
            rejected.collect::<Vec<_>>()
        );
        let new = found.iter().flat_map(|one| one.iter()).filter(|one| !one.seen_before).count();
        assert_eq!(new, 3, "{}: each is new once", fixture.name);
    }
}
