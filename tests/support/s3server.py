"""A real S3 server for tests: OpenStack Swift (Debian's python3-swift) with its S3 API, in one process, on loopback.

usage: s3server.py FOLDER        the key pair comes from S3_ACCESS_KEY (account:user) and S3_SECRET_KEY
Prints "listening PORT" when it is ready and ends when its standard input does, so it never outlives the tests.
"""
import logging
import os
import sys

import eventlet

eventlet.monkey_patch()

from eventlet import wsgi
from eventlet.patcher import original
import swift.common.storage_policy as storage_policy
import swift.common.utils as utils

root = os.path.abspath(sys.argv[1])
account, user = os.environ['S3_ACCESS_KEY'].split(':')
secret = os.environ['S3_SECRET_KEY']
os.makedirs(f'{root}/srv/d1', exist_ok=True)


def write(name, text):
    with open(f'{root}/{name}', 'w') as file:
        file.write(text)


# Swift reads /etc/swift/swift.conf unless its modules get another path first.
write('swift.conf', '[swift-hash]\nswift_hash_path_prefix = t\nswift_hash_path_suffix = t\n'
                    '[storage-policy:0]\nname = single\ndefault = yes\n')
utils.SWIFT_CONF_FILE = f'{root}/swift.conf'
if hasattr(storage_policy, 'SWIFT_CONF_FILE'):
    storage_policy.SWIFT_CONF_FILE = utils.SWIFT_CONF_FILE
if utils.HASH_PATH_SUFFIX == b'':
    utils.validate_hash_conf()
storage_policy.reload_storage_policies()

from swift.common.ring import RingBuilder
from swift.common.wsgi import SwiftHttpProtocol, loadapp

# Bind the ports first, because the rings name them.
backends = {name: eventlet.listen(('127.0.0.1', 0), backlog=128) for name in ('account', 'container', 'object')}
common = f'swift_dir = {root}\nlog_level = ERROR\nlog_address = {root}/nolog\nworkers = 0\n'
for name, socket in backends.items():
    port = socket.getsockname()[1]
    ring = RingBuilder(2, 1, 0)
    ring.add_dev({'id': 0, 'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': port, 'device': 'd1', 'weight': 1.0,
                  'replication_ip': '127.0.0.1', 'replication_port': port, 'meta': ''})
    ring.rebalance()
    ring.get_ring().save(f'{root}/{name}.ring.gz')
    write(f'{name}.conf', f'[DEFAULT]\n{common}devices = {root}/srv\nmount_check = false\n'
                          f'[pipeline:main]\npipeline = app\n[app:app]\nuse = egg:swift#{name}\n')

filters = {
    'catch_errors': '',
    # Mandatory, but it may name a closed port.
    'cache': 'use = egg:swift#memcache\nmemcache_servers = 127.0.0.1:1\nerror_suppression_limit = 0',
    'listing_formats': '',
    'bulk': '',
    's3api': 'location = us-east-1',
    'tempauth': f'user_{account}_{user} = {secret} .admin',
    'copy': '',
    'slo': '',
    'dlo': '',
    'symlink': '',
}
sections = ''.join(
    f'[filter:{name}]\n' + ('' if 'use =' in lines else f'use = egg:swift#{name}\n') + lines + '\n'
    for name, lines in filters.items())
write('proxy.conf', f'[DEFAULT]\n{common}[pipeline:main]\npipeline = {" ".join(filters)} proxy-server\n'
                    f'[app:proxy-server]\nuse = egg:swift#proxy\naccount_autocreate = true\n{sections}')

logger = logging.getLogger('silent')
logger.addHandler(logging.NullHandler())
logger.propagate = False


def serve(socket, name):
    wsgi.server(socket, loadapp(f'{root}/{name}.conf'), logger, protocol=SwiftHttpProtocol, log_output=False,
                custom_pool=eventlet.GreenPool(200))


def end_with_parent():
    os.read(0, 1)
    os._exit(0)


for name, socket in backends.items():
    eventlet.spawn(serve, socket, name)
original('threading').Thread(target=end_with_parent, daemon=True).start()
front = eventlet.listen(('127.0.0.1', 0), backlog=128)
print('listening', front.getsockname()[1], flush=True)
serve(front, 'proxy')
