import smtplib
import ssl
import sys
from email.message import EmailMessage

port, key, sender, png = sys.argv[1:]

message = EmailMessage()
message['Subject'] = 'Grüße {{name}}'
message['From'] = f'Jörg Müller <{sender}>'
message['To'] = 'Ada <python@example.org>'
message['X-Order'] = '4711'
message.set_content('Café {{plan}} costs 5 €\n.leading dot\n', charset='utf-8')
message.add_alternative('<p>Café <b>{{{raw}}}</b> <img src="cid:logo@x"></p>', subtype='html', charset='iso-8859-1')
message.get_payload()[1].add_related(bytes.fromhex(png), 'image', 'png', cid='<logo@x>', filename='logo.png')
message.add_attachment(bytes(range(256)) * 4, 'application', 'octet-stream', filename='äll.bin')
message.add_attachment('BEGIN:VCALENDAR\nEND:VCALENDAR\n', subtype='calendar', filename='invite.ics')

sys.stdout.buffer.write(bytes(message) + b'\0')
sys.stdout.buffer.flush()
if port == '0':
    sys.exit()


class Telling(smtplib.SMTP):
    def getreply(self):
        code, text = super().getreply()
        if b'Accepted as' in text:
            print(text.decode())
        return code, text


context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
with Telling('127.0.0.1', int(port)) as server:
    server.starttls(context=context)
    server.login('mailwright', key)
    server.send_message(message)
